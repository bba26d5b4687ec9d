// wgmma of every type and layout: against the definition, element by element, and against the hashes of a GPU (golden/wgmma_sm_90.inc).
// What uses sums too early, and matrices that change too early.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "kernels/ptx/test/form_runner.h"
#include "kernels/ptx/test/golden/form.h"
#include "kernels/ptx/test/golden/wgmma.h"
#include "reference/model/block_fma.h"

namespace flashproof::ptx {
namespace {

using golden::WgmmaCase;
using testing::HasSubstr;

LaunchResult launch(const std::string& text, std::vector<std::uint32_t>& in, std::vector<std::uint32_t>& out) {
  Program program(parse("w.ptx", text), "k", {.use_cache = false, .cache_folder = ""});
  const void* pointers[] = {in.data(), out.data()};
  std::vector<std::byte> parameters(sizeof pointers);
  std::memcpy(parameters.data(), static_cast<const void*>(pointers), sizeof pointers);
  const Array arrays[] = {{in.data(), in.size() * 4, false, "in"}, {out.data(), out.size() * 4, true, "out"}};
  return program.launch({{1, 1, 1}, {golden::kWgmmaThreads, 1, 1}, 0, parameters, arrays});
}

struct Unit {
  Format format;
  BlockFma fma;
  int bits;
  int depth() const { return 256 / bits; }
};
Unit unit_of(const std::string& type) {
  static const std::map<std::string, Unit> kUnits = {{"f16", {Format::f16, kHopperF16, 16}},
                                                     {"bf16", {Format::bf16, kHopperF16, 16}},
                                                     {"tf32", {Format::f32, kHopperTf32, 32}},
                                                     {"e4m3", {Format::e4m3fn, kHopperWgmmaFp8, 8}},
                                                     {"e5m2", {Format::e5m2, kHopperWgmmaFp8, 8}}};
  return kUnits.at(type);
}

/// The canonical layouts of CUTLASS (mma_sm90_desc.hpp) and the ISA: the byte of element (row, k), its address being a multiple of 1024
/// at the matrix's start.
int place_of(const WgmmaCase& what, bool across, int row, int k, int bytes) {
  const golden::WgmmaStrides strides = golden::wgmma_strides(what.swizzle, across);
  const int span = what.swizzle == 0 ? 16 : what.swizzle, elements = span / bytes;
  int at = 0;
  if (!across) {
    const int chunk = k * bytes / 16;
    at = row / 8 * strides.stride + row % 8 * span + (what.swizzle == 0 ? chunk * strides.leading : chunk * 16) +
         k * bytes % 16;
  } else {
    at = row / elements * (what.swizzle == 0 ? strides.stride : strides.leading) + row % elements * bytes +
         k / 8 * (what.swizzle == 0 ? strides.leading : strides.stride) + k % 8 * span;
  }
  const int lines = at / 128, mask = what.swizzle == 128  ? lines & 7
                                     : what.swizzle == 64 ? lines & 3
                                     : what.swizzle == 32 ? lines & 1
                                                          : 0;
  return at ^ mask << 4;
}

class Wgmma : public testing::TestWithParam<WgmmaCase> {};

float number(const Unit& unit, const std::uint8_t* at, bool negated) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(unit.bits / 8));
  if (negated) bits ^= 1U << (unit.bits - 1);
  if (unit.bits == 32) return cut_to_tf32(std::bit_cast<float>(bits));
  return static_cast<float>(decode(unit.format, bits));
}

struct Measured {
  const char* name;
  std::uint64_t hash;
};
#define FP_PTX_WGMMA(name, hash) {name, hash},
constexpr Measured kMeasured[] = {
#include "kernels/ptx/test/golden/wgmma_sm_90.inc"
};
#undef FP_PTX_WGMMA

/// Of the cases each so many-th; the nightly test has all.
#ifndef FLASHPROOF_PTX_WGMMA_EVERY
#define FLASHPROOF_PTX_WGMMA_EVERY 7
#endif
std::vector<golden::WgmmaCase> chosen_cases() {
  std::vector<golden::WgmmaCase> all = golden::wgmma_cases(), chosen;
  for (std::size_t i = 0; i < all.size(); i += FLASHPROOF_PTX_WGMMA_EVERY) chosen.push_back(all[i]);
  return chosen;
}

TEST_P(Wgmma, multiplies_as_defined) {
  const WgmmaCase& what = GetParam();
  const Unit unit = unit_of(what.type);
  std::vector<std::uint32_t> in = golden::wgmma_input(what), out(golden::kWgmmaOutputWords);
  const LaunchResult result = launch(golden::wgmma_text(what), in, out);
  ASSERT_TRUE(result.completed && result.findings.empty()) << (result.findings.empty() ? "" : result.findings[0].text);
  const auto* a = reinterpret_cast<const std::uint8_t*>(in.data());
  const std::uint8_t* b = a + golden::kMatrixABytes;
  const int bytes = unit.bits / 8;
  unsigned wrong = 0, finite = 0;
  for (unsigned thread = 0; thread < golden::kWgmmaThreads; ++thread) {
    const int warp = static_cast<int>(thread / 32), lane = static_cast<int>(thread % 32);
    for (int i = 0; i < what.columns / 2; ++i) {
      const int row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      float sum = std::bit_cast<float>(in[golden::kWgmmaMatrixWords + thread * 132 + 4 + static_cast<unsigned>(i)]);
      for (int step = 0; step < 3; ++step) {
        float x[32], y[32];
        for (int k = 0; k < unit.depth(); ++k) {
          const int chunk = k * bytes / 16, word = k * bytes % 16 / 4;
          const auto owner = static_cast<unsigned>(warp * 32 + row % 8 * 4 + word);
          const std::uint8_t* from =
              what.a_in_registers
                  ? reinterpret_cast<const std::uint8_t*>(
                        &in[golden::kWgmmaMatrixWords + owner * 132 + static_cast<unsigned>(row / 8 + 2 * chunk)]) +
                        k * bytes % 4
                  : a + place_of(what, what.a_across, 16 * warp + row, k, bytes);
          x[k] = number(unit, from, step == 2);
          y[k] = number(unit, b + place_of(what, what.b_across, column, k, bytes), false);
        }
        sum = block_fma(unit.fma, {unit.format, unit.format}, sum, x, y, unit.depth());
      }
      finite += std::isfinite(sum) ? 1 : 0;
      const std::uint32_t got = out[thread * 128 + static_cast<unsigned>(i)];
      if (got == (std::isnan(sum) ? 0x7fffffffU : std::bit_cast<std::uint32_t>(sum))) continue;
      if (++wrong < 4) ADD_FAILURE() << fmt::format("({}, {}): {:#x}, expected {}", 16 * warp + row, column, got, sum);
    }
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(finite, golden::kWgmmaThreads * static_cast<unsigned>(what.columns) / 8) << "too few sums say something";
  const auto measured = std::ranges::find(kMeasured, golden::name_of(what), &Measured::name);
  ASSERT_NE(measured, std::end(kMeasured)) << "not measured: ptx_wgmma_gpu golden";
  EXPECT_EQ(golden::hash_of({out.begin(), out.end()}), measured->hash) << "other bits than an H100's";
}

INSTANTIATE_TEST_SUITE_P(all, Wgmma, testing::ValuesIn(chosen_cases()), [](const auto& info) {
  std::string name = golden::name_of(info.param);
  std::ranges::replace(name, ' ', '_');
  return name;
});

/// Two matrices of zeros, and a product with four sums; `before`, `behind` and so on: what stands around it.
struct Product {
  std::string fence = "fence.proxy.async;\n", meet = "bar.sync 0;\n", behind = "",
              commit = "wgmma.commit_group.sync.aligned;\n", wait = "wgmma.wait_group.sync.aligned 0;\n", after = "";
  std::string said() const {
    std::vector<std::uint64_t> a(256), o(256);
    return run_module(
               module_of(
                   ".reg .f32 %f<8>;\n.shared .align 1024 .b8 s[4096];\nmov.u32 %w1, s;\nshl.b32 %w2, %i, 5;\nadd.u32 "
                   "%w1, %w1, %w2;\nmov.u64 %d1, 0;\nst.shared.v2.u64 [%w1], {%d1, %d1};\nst.shared.v2.u64 [%w1+16], "
                   "{%d1, "
                   "%d1};\n" +
                   fence + meet +
                   "mov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\nmov.u64 %d2, "
                   "0x0000001000080000;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                   "{%f1, %f2, %f3, %f4}, %d2, %d2, 1, 1, 1, 0, 0;\n" +
                   behind + commit + wait + "add.f32 %f5, %f1, %f4;\n" + after),
               a, o, 1, 128)
        .said;
  }
};

constexpr const char* kTooEarly = "uses a register of a wgmma that was not waited for";

TEST(WgmmaWait, sums_are_there_behind_it) {
  EXPECT_EQ(Product{}.said(), "");
  EXPECT_THAT((Product{.wait = ""}).said(), HasSubstr(kTooEarly));
  EXPECT_THAT((Product{.commit = ""}).said(), HasSubstr(kTooEarly)) << "a wait for groups that it is not in";
  EXPECT_THAT((Product{.wait = "wgmma.wait_group.sync.aligned 1;\n"}).said(), HasSubstr(kTooEarly));
  EXPECT_EQ((Product{.wait = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;\n"}).said(), "");
  EXPECT_THAT((Product{.behind = "mov.f32 %f2, 0f3f800000;\n"}).said(), HasSubstr(kTooEarly)) << "written";
  EXPECT_EQ((Product{.behind = "mov.f32 %f6, %f2;\n"}).said(), "") << "a copy that nothing uses before the wait";
  EXPECT_THAT((Product{.behind = "mov.f32 %f6, %f2;\nadd.f32 %f7, %f6, %f6;\n"}).said(), HasSubstr(kTooEarly));
  EXPECT_EQ(
      (Product{.behind = "setp.ne.u32 %p1, %i, %i;\n@%p1 bra $J;\n", .wait = "$J:\nwgmma.wait_group.sync.aligned 0;\n"})
          .said(),
      "");
}

TEST(WgmmaWait, matrices_stay_as_they_are_until_then) {
  const std::string over = "bar.sync 0;\nst.shared.u64 [%w1], %at;\n";
  EXPECT_THAT((Product{.behind = over}).said(), HasSubstr("which an asynchronous operation read in line"));
  EXPECT_EQ((Product{.after = over}).said(), "");
  EXPECT_THAT((Product{.after = "st.shared.u64 [%w1], %at;\n"}).said(),
              HasSubstr("asynchronously, which warp 0 wrote in line"))
      << "other warps still multiply";
}

TEST(WgmmaWait, matrices_are_written_before_and_fenced) {
  EXPECT_THAT((Product{.fence = ""}).said(), HasSubstr("and no fence.proxy.async lies between the two"));
  EXPECT_THAT((Product{.meet = ""}).said(), HasSubstr("asynchronously"));
}

TEST(WgmmaOperands, are_counted_and_legal) {
  const auto said = [](const std::string& rest) {
    return (Product{.behind =
                        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, " + rest + ";\n"})
        .said();
  };
  EXPECT_EQ(said("%d2, %d2, 0, 1, -1, 1, 0"), "");
  EXPECT_THAT(said("{%w1, %w2, %w3, %w4}, %d2, 0, 1, 1, 0, 0"), HasSubstr("8 operands, wanted 7 with a in registers"));
  EXPECT_THAT(said("%d2, %d2, 0, 1, 1, 0"), HasSubstr("7 operands, wanted 8 with a in shared memory"));
  EXPECT_THAT(said("%d2, %d2, 0, 2, 1, 0, 0"), HasSubstr("operand 5: 2, legal: 1 or -1"));
  EXPECT_THAT(said("%d2, %d2, 0, 1, 1, 2, 0"), HasSubstr("operand 7: 2, legal: 0 or 1"));
  EXPECT_THAT(said("%w2, %d2, 0, 1, 1, 0, 0"), HasSubstr("register %w2 has 32 bits"));
  EXPECT_THAT(said("%at, %d2, 0, 1, 1, 0, 0"), HasSubstr("lanes have different descriptors of a"));
  EXPECT_THAT(
      (Product{.behind = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %d2, %d2, 0, 1, 1, 0, 0;\n"})
          .said(),
      HasSubstr("operand 1: 4 elements wanted"));
  for (const char* form :
       {"m64n8k16.f16.f16.f16", "m64n12k16.f32.f16.f16", "m64n8k32.s32.s8.s8", "m64n8k32.f32.e4m3.e5m2"})
    EXPECT_THAT(
        (Product{.behind = fmt::format("wgmma.mma_async.sync.aligned.{} {{%f1}}, %d2, %d2, 0;\n", form)}).said(),
        HasSubstr(fmt::format("no such instruction here: wgmma.mma_async.sync.aligned.{}", form)));
}

}  // namespace
}  // namespace flashproof::ptx
