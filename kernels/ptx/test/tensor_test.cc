// cp.async.bulk.tensor by maps of encode_tiled(): every rank and swizzle against the definition, byte by byte.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "kernels/ptx/run/tensor_map.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

constexpr std::size_t kShared = 16384;

/// The map as a parameter; thread 0 copies the box at the coordinates into shared memory, all write that out. Or the other way.
std::string module_of(std::uint32_t rank, const std::string& start, bool loads) {
  const std::string head = fmt::format(R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 o, .param .u32 bytes)
{{
.reg .pred %p, %q;
.reg .b32 %i, %w, %bytes;
.reg .b64 %map, %o, %d;
.shared .align 1024 .b8 s[{}];
.shared .align 8 .b8 m[8];
mov.u32 %i, %tid.x;
setp.eq.u32 %p, %i, 0;
mov.b64 %map, map;
cvta.param.u64 %map, %map;
ld.param.u64 %o, [o];
cvt.u64.u32 %d, %i;
add.u64 %o, %o, %d;
ld.param.u32 %bytes, [bytes];
mov.u32 %w, s;
add.u32 %w, %w, %i;
)",
                                       kShared);
  if (loads) {
    return head + fmt::format(R"(@%p mbarrier.init.shared.b64 [m], 1;
bar.sync 0;
@%p mbarrier.arrive.expect_tx.shared.b64 _, [m], %bytes;
@%p cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%map, {{{}}}], [m];
$W:
mbarrier.try_wait.parity.shared.b64 %q, [m], 0;
@!%q bra $W;
$L:
setp.ge.u32 %q, %i, %bytes;
@%q ret;
ld.shared.u8 %i, [%w];
st.global.u8 [%o], %i;
mov.u32 %i, s;
sub.u32 %i, %w, %i;
add.u32 %i, %i, 128;
add.u32 %w, %w, 128;
add.u64 %o, %o, 128;
bra $L;
}}
)",
                              rank, start);
  }
  return head + fmt::format(R"($L:
setp.ge.u32 %q, %i, %bytes;
@%q bra $E;
ld.global.u8 %i, [%o];
st.shared.u8 [%w], %i;
mov.u32 %i, s;
sub.u32 %i, %w, %i;
add.u32 %i, %i, 128;
add.u32 %w, %w, 128;
add.u64 %o, %o, 128;
bra $L;
$E:
fence.proxy.async.shared::cta;
bar.sync 0;
@%p cp.async.bulk.tensor.{}d.global.shared::cta.bulk_group [%map, {{{}}}], [s];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ret;
}}
)",
                            rank, start);
}

struct Case {
  TiledTensor tensor;
  std::vector<std::int32_t> start;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return fmt::format("{}d_swizzle_{}_{}", info.param.tensor.rank, static_cast<int>(info.param.tensor.swizzle),
                     info.index);
}

class Tensor : public testing::TestWithParam<Case> {
 protected:
  Tensor() : tensor(GetParam().tensor), start(GetParam().start) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
    tensor.address = memory.data();
  }

  /// Byte `byte` of element `index` of the box (from the innermost axis): in shared memory, and in the tensor or nowhere.
  template <class Take>
  void for_each_byte(Take take) const {
    std::uint64_t counts[5] = {1, 1, 1, 1, 1};
    for (std::uint32_t axis = 0; axis < tensor.rank; ++axis)
      counts[axis] = axis == 0 ? tensor.box[0] : (tensor.box[axis] + tensor.steps[axis] - 1) / tensor.steps[axis];
    const std::uint64_t size = tensor.element();
    const std::uint64_t all = counts[0] * counts[1] * counts[2] * counts[3] * counts[4];
    for (std::uint64_t index = 0; index < all; ++index) {
      std::uint64_t rest = index;
      std::int64_t at = 0;
      bool inside = true;
      for (std::uint32_t axis = 0; axis < tensor.rank; ++axis) {
        const std::uint64_t step = axis == 0 ? 1 : tensor.steps[axis];
        const std::int64_t i = start[axis] + static_cast<std::int64_t>(rest % counts[axis] * step);
        rest /= counts[axis];
        inside &= i >= 0 && i < static_cast<std::int64_t>(tensor.sizes[axis]);
        at += i * static_cast<std::int64_t>(axis == 0 ? size : tensor.strides[axis - 1]);
      }
      for (std::uint64_t byte = 0; byte < size; ++byte) {
        std::uint64_t place = index * size + byte;
        const std::uint64_t rows = place / 128 % 8, row = place / 16 % 8;  // of 128 bytes, 16 bytes in them
        const std::uint64_t mask = tensor.swizzle == Swizzle::bytes_128  ? rows
                                   : tensor.swizzle == Swizzle::bytes_64 ? rows & 3
                                   : tensor.swizzle == Swizzle::bytes_32 ? rows & 1
                                                                         : 0;
        place = place / 128 * 128 + (row ^ mask) * 16 + place % 16;
        take(place, inside ? at + static_cast<std::int64_t>(byte) : -1);
      }
    }
  }

  LaunchResult launch(bool loads, std::vector<std::uint8_t>& other) {
    std::string at;
    for (const std::int32_t i : start) at += (at.empty() ? "" : ", ") + std::to_string(i);
    Program program(parse("t.ptx", module_of(tensor.rank, at, loads)), "k", {.use_cache = false, .cache_folder = ""});
    const TensorMap map = encode_tiled(tensor);
    std::vector<std::byte> parameters(map.bytes.begin(), map.bytes.end());
    const std::uint8_t* data = other.data();
    const auto bytes = static_cast<std::uint32_t>(tensor.box_bytes());
    parameters.resize(140);
    std::memcpy(parameters.data() + 128, static_cast<const void*>(&data), 8);
    std::memcpy(parameters.data() + 136, &bytes, 4);
    const Array arrays[] = {{memory.data(), memory.size(), !loads, "tensor"},
                            {other.data(), other.size(), loads, "other"}};
    return program.launch({{1, 1, 1}, {128, 1, 1}, 0, parameters, arrays});
  }

  TiledTensor tensor;
  std::vector<std::int32_t> start;
  alignas(64) std::array<std::uint8_t, 65536> memory{};
};

TEST_P(Tensor, is_loaded_as_defined) {
  std::vector<std::uint8_t> got(kShared, 0xcc);
  const LaunchResult result = launch(true, got);
  EXPECT_TRUE(result.completed && result.findings.empty()) << (result.findings.empty() ? "" : result.findings[0].text);
  for_each_byte([&](std::uint64_t place, std::int64_t at) {
    ASSERT_EQ(got[place], at < 0 ? 0 : memory[static_cast<std::size_t>(at)]) << place;
  });
}

TEST_P(Tensor, is_stored_as_defined) {
  std::vector<std::uint8_t> from(kShared);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 91 + i / 128 + 1);
  auto expected = memory;
  for_each_byte([&](std::uint64_t place, std::int64_t at) {
    if (at >= 0) expected[static_cast<std::size_t>(at)] = from[place];
  });
  const LaunchResult result = launch(false, from);
  EXPECT_TRUE(result.completed && result.findings.empty()) << (result.findings.empty() ? "" : result.findings[0].text);
  EXPECT_EQ(memory, expected);
}

TiledTensor tensor_of(TensorType type, std::uint32_t rank, Swizzle swizzle, std::uint32_t inner) {
  TiledTensor tensor{
      .type = type, .rank = rank, .sizes = {44, 7, 5, 3, 2}, .box = {inner, 8, 3, 2, 2}, .swizzle = swizzle};
  std::uint64_t stride = 48 * tensor.element();
  for (std::uint32_t axis = 1; axis < rank; ++axis) {
    tensor.strides[axis - 1] = stride;
    stride *= tensor.sizes[axis] + 1;
  }
  return tensor;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (std::uint32_t rank = 1; rank <= 5; ++rank) {
    for (const Swizzle swizzle : {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128}) {
      const std::uint32_t inner = swizzle == Swizzle::none ? 24 : 8U << static_cast<std::uint32_t>(swizzle);
      for (const std::vector<std::int32_t>& start :
           {std::vector<std::int32_t>{0, 0, 0, 0, 0}, {-5, -3, -1, -1, 1}, {33, 4, 4, 2, -1}})
        list.push_back({tensor_of(TensorType::f16, rank, swizzle, inner), start});
    }
  }
  TiledTensor spread = tensor_of(TensorType::f32, 3, Swizzle::bytes_128, 32);
  spread.steps = {1, 3, 2, 1, 1};
  list.push_back({spread, {8, 1, -2, 0, 0}});
  list.push_back({tensor_of(TensorType::u8, 2, Swizzle::bytes_32, 32), {31, 2, 0, 0, 0}});
  list.push_back({tensor_of(TensorType::f64, 2, Swizzle::bytes_64, 8), {40, -7, 0, 0, 0}});
  list.push_back({tensor_of(TensorType::f16, 2, Swizzle::none, 24), {2000, 2000, 0, 0, 0}});
  for (Case& one : list) one.start.resize(one.tensor.rank);
  return list;
}

INSTANTIATE_TEST_SUITE_P(all, Tensor, testing::ValuesIn(cases()), name_of);

TEST(TensorMaps, refuse_what_cuda_refuses) {
  alignas(16) static std::array<std::byte, 64> memory{};
  const auto said = [&](auto change) -> std::string {
    TiledTensor tensor = tensor_of(TensorType::f16, 3, Swizzle::bytes_64, 32);
    tensor.address = memory.data();
    change(tensor);
    try {
      encode_tiled(tensor);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said([](TiledTensor&) {}), "");
  EXPECT_EQ(said([](TiledTensor& t) { t.rank = 6; }), "tensor map: rank: 6, legal: 1 to 5");
  EXPECT_THAT(said([](TiledTensor& t) { t.address = memory.data() + 8; }), HasSubstr("address"));
  EXPECT_THAT(said([](TiledTensor& t) { t.address = nullptr; }), HasSubstr("address: 0, legal: 1"));
  EXPECT_EQ(said([](TiledTensor& t) { t.sizes[1] = 0; }), "tensor map: size 1: 0, legal: 1 to 4294967296");
  EXPECT_THAT(said([](TiledTensor& t) { t.sizes[2] = (1ULL << 32) + 1; }), HasSubstr("size 2"));
  EXPECT_EQ(said([](TiledTensor& t) { t.box[2] = 257; }), "tensor map: box 2: 257, legal: 1 to 256");
  EXPECT_EQ(said([](TiledTensor& t) { t.steps[1] = 9; }), "tensor map: element stride 1: 9, legal: 1 to 8");
  EXPECT_THAT(said([](TiledTensor& t) { t.strides[1] = 40; }), HasSubstr("stride 2: 40, legal: 16 to"));
  EXPECT_THAT(said([](TiledTensor& t) { t.strides[0] = 1ULL << 40; }), HasSubstr("stride 1"));
  EXPECT_EQ(said([](TiledTensor& t) { t.box[0] = 40; }),
            "tensor map: bytes of box 0: 80, legal: 16 to 64, a multiple of 16");
  EXPECT_THAT(said([](TiledTensor& t) { t.box[0] = 20; }), HasSubstr("bytes of box 0: 40"));
  EXPECT_THAT(said([](TiledTensor& t) { t.swizzle = Swizzle{4}; }), HasSubstr("swizzle: 4"));
  EXPECT_THAT(said([](TiledTensor& t) { t.interleave = Interleave::bytes_16; }), HasSubstr("interleave: 1, legal: 0"));
  EXPECT_THAT(said([](TiledTensor& t) { t.fill = Fill::nan; }), HasSubstr("fill: 1, legal: 0"));
  EXPECT_THAT(said([](TiledTensor& t) { t.type = TensorType::tf32; }), HasSubstr("data type: 11, legal: 0 to 9"));
}

TEST(TensorMaps, bytes_that_are_no_map_are_a_finding) {
  Program program(parse("t.ptx", module_of(2, "0, 0", true)), "k", {.use_cache = false, .cache_folder = ""});
  std::vector<std::uint8_t> memory(4096);
  const auto said = [&](const TensorMap& map) {
    std::vector<std::byte> parameters(map.bytes.begin(), map.bytes.end());
    parameters.resize(140);
    const Array array{memory.data(), 64, true, "tensor"};
    const LaunchResult result = program.launch({{1, 1, 1}, {128, 1, 1}, 0, parameters, {&array, 1}});
    return result.findings.empty() ? "" : result.findings[0].text;
  };
  EXPECT_THAT(said({}), HasSubstr("no tensor map at 0x5c"));
  TiledTensor tensor = tensor_of(TensorType::f16, 2, Swizzle::none, 8);
  tensor.address = memory.data();
  TensorMap map = encode_tiled(tensor);
  EXPECT_THAT(said(map), HasSubstr("in no array of the launch"));
  map.bytes[127] = std::byte{1};
  EXPECT_THAT(said(map), HasSubstr("no tensor map"));
  tensor.rank = 3;
  tensor.strides[1] = 4096;
  EXPECT_THAT(said(encode_tiled(tensor)), HasSubstr("a tensor map of 3 axes, wanted 2"));
}

/// CUTLASS 4 clears it in maps of small tensors (run/tensor_map.cc).
TEST(TensorMap, bit_21_of_the_second_word_says_nothing) {
  TiledTensor tensor{.type = TensorType::f16, .rank = 5, .address = reinterpret_cast<void*>(~15ULL)};  // NOLINT
  tensor.sizes = {1ULL << 32, 1ULL << 32, 1ULL << 32, 1ULL << 32, 1ULL << 32};
  tensor.strides = {(1ULL << 40) - 16, (1ULL << 40) - 16, (1ULL << 40) - 16, (1ULL << 40) - 16};
  tensor.box = {248, 255, 255, 255, 255};
  const TensorMap map = encode_tiled(tensor);
  EXPECT_EQ(std::to_integer<int>(map.bytes[8 + 2]) & 0x20, 0);
}

}  // namespace
}  // namespace flashproof::ptx
