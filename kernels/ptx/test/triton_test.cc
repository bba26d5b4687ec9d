// Kernels that Triton made for sm_90a (triton.sm_90a.ptx), unchanged: softmax, and attention by cp.async and by tensor maps, with
// wgmma, against plain arithmetic in double; and that what is deleted of their synchronisation is missed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "kernels/ptx/run/tensor_map.h"
#include "reference/problem/formats.h"
#include "reference/system/read_file.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

constexpr std::size_t kRows = 128, kKeys = 192, kD = 64;

std::string text() { return read_file(FLASHPROOF_PTX_TRITON, 1 << 20); }

class Parameters {
 public:
  explicit Parameters(const Entry& entry) : entry_(entry), bytes(static_cast<std::size_t>(entry.parameter_bytes)) {}
  template <class T>
  void put(std::size_t number, const T& value) {
    std::memcpy(bytes.data() + entry_.parameters.at(number).offset, static_cast<const void*>(&value), sizeof value);
  }

 private:
  const Entry& entry_;

 public:
  std::vector<std::byte> bytes;
};

/// 16-byte aligned numbers of f16.
struct Halves {
  explicit Halves(std::size_t count, unsigned seed = 0) : numbers(count) {
    std::mt19937_64 random(seed);
    for (Block& block : numbers) {
      block.bits = seed == 0 ? 0xffff : static_cast<std::uint16_t>((random() & 0x83ff) | 0x3000 | (random() & 0x0800));
    }
  }
  struct alignas(2) Block {
    std::uint16_t bits;
  };
  double at(std::size_t i) const { return decode(Format::f16, numbers[i].bits); }
  Array array(const char* name, bool writable) { return {numbers.data(), numbers.size() * 2, writable, name}; }
  std::vector<Block> numbers;
};

struct Attention {
  Halves q{kRows * kD, 1}, k{kKeys * kD, 2}, v{kKeys * kD, 3}, o{kRows * kD};
  std::vector<float> lse = std::vector<float>(kRows, NAN);
  LaunchResult result;

  /// The entry of this text, with every tensor as a pointer or as a map.
  void run(const std::string& text, bool by_maps) {
    Program program(parse("triton.ptx", text), by_maps ? "attention_by_maps" : "attention_by_pointers",
                    {.use_cache = false, .cache_folder = ""});
    Parameters parameters(program.entry());
    std::size_t next = 0;
    for (Halves* tensor : {&q, &k, &v, &o}) {
      if (by_maps) {
        TiledTensor tiled{
            .type = TensorType::f16, .rank = 2, .address = tensor->numbers.data(), .swizzle = Swizzle::bytes_128};
        tiled.sizes = {kD, tensor->numbers.size() / kD};
        tiled.strides = {2 * kD};
        tiled.box = {64, 64};
        parameters.put(next, encode_tiled(tiled));
        parameters.put(next + 1, static_cast<std::uint32_t>(tiled.sizes[1]));
        parameters.put(next + 2, static_cast<std::uint32_t>(kD));
        parameters.put(next + 3, std::uint64_t{kD});
        parameters.put(next + 4, std::uint64_t{1});
        next += 5;
      } else {
        parameters.put(next++, tensor->numbers.data());
      }
    }
    parameters.put(next++, lse.data());
    parameters.put(next++, 0.125F);
    parameters.put(next++, static_cast<std::uint32_t>(kKeys));
    const Array arrays[] = {q.array("q", false),
                            k.array("k", false),
                            v.array("v", false),
                            o.array("o", true),
                            {lse.data(), lse.size() * 4, true, "lse"}};
    result = program.launch({{kRows / 64, 1, 1}, {128, 1, 1}, by_maps ? 40976U : 40960U, parameters.bytes, arrays});
  }

  std::string said() const {
    std::string said;
    for (const Finding& finding : result.findings) said += finding.text + "\n";
    return said;
  }

  void expect_right() const {
    ASSERT_EQ(said(), "");
    ASSERT_TRUE(result.completed);
    for (std::size_t row = 0; row < kRows; ++row) {
      double scores[kKeys], total = 0;
      for (std::size_t key = 0; key < kKeys; ++key) {
        double sum = 0;
        for (std::size_t i = 0; i < kD; ++i) sum += q.at(row * kD + i) * k.at(key * kD + i);
        total += scores[key] = std::exp(sum * 0.125);
      }
      ASSERT_NEAR(lse[row], std::log(total), 1e-5) << row;
      for (std::size_t i = 0; i < kD; ++i) {
        double sum = 0;
        for (std::size_t key = 0; key < kKeys; ++key) sum += scores[key] / total * v.at(key * kD + i);
        ASSERT_NEAR(o.at(row * kD + i), sum, 2e-3) << row << " " << i;
      }
    }
  }
};

TEST(Triton, attention_by_pointers) {
  Attention attention;
  attention.run(text(), false);
  attention.expect_right();
}

TEST(Triton, attention_by_maps) {
  Attention attention;
  attention.run(text(), true);
  attention.expect_right();
}

TEST(Triton, softmax) {
  constexpr std::size_t kCount = 8, kCols = 1000, kStride = 1008;
  std::mt19937_64 random(4);
  std::vector<float> x(kCount * kStride), o(x.size(), NAN);
  for (float& one : x) one = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-49 - 8);
  Program program(parse("triton.ptx", text()), "row_softmax", {.use_cache = false, .cache_folder = ""});
  Parameters parameters(program.entry());
  parameters.put(0, x.data());
  parameters.put(1, o.data());
  parameters.put(2, static_cast<std::uint32_t>(kCols));
  parameters.put(3, static_cast<std::uint32_t>(kStride));
  const Array arrays[] = {{x.data(), x.size() * 4, false, "x"}, {o.data(), o.size() * 4, true, "o"}};
  const LaunchResult result = program.launch({{kCount, 1, 1}, {128, 1, 1}, 16, parameters.bytes, arrays});
  ASSERT_TRUE(result.completed && result.findings.empty()) << (result.findings.empty() ? "" : result.findings[0].text);
  for (std::size_t row = 0; row < kCount; ++row) {
    double total = 0;
    for (std::size_t i = 0; i < kCols; ++i) total += std::exp(static_cast<double>(x[row * kStride + i]));
    for (std::size_t i = 0; i < kCols; ++i) {
      const double exact = std::exp(static_cast<double>(x[row * kStride + i])) / total;
      ASSERT_NEAR(o[row * kStride + i], exact, 1e-5 * exact + 1e-12) << row << " " << i;
    }
    EXPECT_TRUE(std::isnan(o[row * kStride + kCols]));
  }
}

/// The text without the `which`-th line of the entry that holds `what`.
std::string without(const std::string& entry, const std::string& what, int which) {
  std::string all = text();
  std::size_t at = all.find(".entry " + entry);
  for (int i = 0; i <= which && at != std::string::npos; ++i) at = all.find(what, at + 1);
  EXPECT_NE(at, std::string::npos) << what;
  const std::size_t begin = all.rfind('\n', at) + 1;
  return all.erase(begin, all.find('\n', at) - begin);
}

TEST(Triton, a_fence_or_wait_that_is_missing_is_found) {
  const auto said = [](bool by_maps, const std::string& what, int which) {
    Attention attention;
    attention.run(without(by_maps ? "attention_by_maps" : "attention_by_pointers", what, which), by_maps);
    return attention.said();
  };
  for (int which = 0; which < 2; ++which) {
    EXPECT_THAT(said(true, "wgmma.wait_group", which), HasSubstr("uses a register of a wgmma that was not waited for"));
    EXPECT_THAT(said(true, "@!complete bra", which), HasSubstr("a cp.async.bulk writes which was not waited for"));
  }
  EXPECT_THAT(said(true, "cp.async.bulk.wait_group", 0),
              HasSubstr("the block ends while this copy reads its shared memory"));
}

}  // namespace
}  // namespace flashproof::ptx
