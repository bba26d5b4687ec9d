// mma of tf32 and of 8 bits against the unit's definition, element by element; stmatrix against ldmatrix.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "kernels/ptx/test/form_runner.h"
#include "reference/model/block_fma.h"

namespace flashproof::ptx {
namespace {

using testing::HasSubstr;

/// Patterns of a, b by row and k or column and k, c by row and column.
struct Tile {
  std::uint32_t a[16][32], b[8][32], c[16][8];
};

Tile random_tile(std::mt19937& random, bool bytes) {
  const auto kind = random() % 4;
  const auto factor = [&]() -> std::uint32_t {
    const auto bits = static_cast<std::uint32_t>(random());
    if (bytes) return kind == 0 ? bits & 255 : kind == 1 ? bits & 0x8f : (bits & 0xbf) | 0x20;
    if (kind == 0) return bits;
    return kind == 1 ? bits & 0x83ffffff : (bits & 0x83ffffff) | 0x3c000000;  // near 0; near 1
  };
  Tile tile;
  for (auto& row : tile.a) std::ranges::generate(row, factor);
  for (auto& row : tile.b) std::ranges::generate(row, factor);
  for (auto& row : tile.c) {
    for (std::uint32_t& c : row) {
      c = static_cast<std::uint32_t>(random());
      if (kind != 0) c = (c & 0x83ffffff) | 0x3c000000;
    }
  }
  return tile;
}

/// A lane's registers (PTX ISA 9.7.14, "Matrix fragments for mma.m16n8k8", of .tf32, and "for mma.m16n8k32"): row or column from
/// lane / 4, and each register the `packed` neighbours in k that begin with packed * (lane % 4), or half the depth later.
std::vector<std::uint32_t> words_of(const Tile& tile, int lane, int depth, int packed) {
  const int group = lane >> 2, first = packed * (lane & 3);
  const auto word = [&](const std::uint32_t* row, int k) {
    std::uint32_t bits = 0;
    for (int i = 0; i < packed; ++i) bits |= packed == 1 ? row[k] : row[k + i] << 8 * i;
    return bits;
  };
  std::vector<std::uint32_t> words;
  for (const int k : {first, first + depth / 2}) {
    words.push_back(word(tile.a[group], k));
    words.push_back(word(tile.a[group + 8], k));
  }
  for (const int k : {first, first + depth / 2}) words.push_back(word(tile.b[group], k));
  for (int i = 0; i < 4; ++i) words.push_back(tile.c[i < 2 ? group : group + 8][(lane & 3) * 2 + (i & 1)]);
  return words;
}

/// By the probe's model (reference/bound/profiles, kernels/probe/README.md).
float sum_of(const std::string& type, const std::uint32_t* a, const std::uint32_t* b, float c) {
  float x[2][16], y[2][16];
  if (type == "tf32") {
    for (int k = 0; k < 8; ++k) {
      x[0][k] = cut_to_tf32(std::bit_cast<float>(a[k]));
      y[0][k] = cut_to_tf32(std::bit_cast<float>(b[k]));
    }
    return block_fma(kHopperTf32, {Format::f32, Format::f32}, c, x[0], y[0], 8);
  }
  const Format format = type == "e4m3" ? Format::e4m3fn : Format::e5m2;
  int count[2] = {};
  for (int k = 0; k < 32; ++k) {
    const int step = k / 2 % 2;
    x[step][count[step]] = static_cast<float>(decode(format, a[k]));
    y[step][count[step]++] = static_cast<float>(decode(format, b[k]));
  }
  float sum = block_fma(kHopperF16, {Format::f16, Format::f16}, 0, x[0], y[0], 16);
  sum = block_fma(kHopperF16, {Format::f16, Format::f16}, sum, x[1], y[1], 16);
  return c + sum;
}

class MmaOfType : public testing::TestWithParam<const char*> {};

TEST_P(MmaOfType, has_the_bits_of_the_unit) {
  const std::string type = GetParam();
  const bool bytes = type != "tf32";
  const int depth = bytes ? 32 : 8;
  constexpr unsigned kTiles = 200;
  std::mt19937 random(11);
  std::vector<Tile> tiles;
  std::vector<std::uint64_t> a, o(kTiles * 64);
  for (unsigned i = 0; i < kTiles; ++i) {
    tiles.push_back(random_tile(random, bytes));
    for (int lane = 0; lane < 32; ++lane) {
      const std::vector<std::uint32_t> words = words_of(tiles.back(), lane, depth, bytes ? 4 : 1);
      for (std::size_t w = 0; w < words.size(); w += 2)
        a.push_back(words[w] | static_cast<std::uint64_t>(words[w + 1]) << 32);
    }
  }
  std::string body = "{\n.reg .b32 x<10>;\nmul.wide.u32 %d1, %i, 40;\nadd.s64 %A, %A, %d1;\n";
  for (int i = 0; i < 10; ++i) body += fmt::format("ld.global.b32 x{}, [%A+{}];\n", i, 4 * i);
  body += fmt::format(
      "mma.sync.aligned.m16n8k{0}.row.col.f32.{1}.{1}.f32 {{x6, x7, x8, x9}}, {{x0, x1, x2, x3}}, {{x4, x5}}, "
      "{{x6, x7, x8, x9}};\n",
      depth, type);
  body += "add.s64 %O, %O, %at;\nadd.s64 %O, %O, %at;\nst.global.v4.b32 [%O], {x6, x7, x8, x9};\n}";
  EXPECT_EQ(run_module(module_of(body), a, o, kTiles, 32).said, "");
  unsigned nan = 0, finite = 0, wrong = 0;
  for (unsigned i = 0; i < kTiles; ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int r = 0; r < 4; ++r) {
        const int row = lane / 4 + (r < 2 ? 0 : 8), column = lane % 4 * 2 + r % 2;
        const float sum =
            sum_of(type, tiles[i].a[row], tiles[i].b[column], std::bit_cast<float>(tiles[i].c[row][column]));
        const std::uint64_t word = o[i * 64 + static_cast<unsigned>(lane) * 2 + static_cast<unsigned>(r) / 2];
        const auto got = static_cast<std::uint32_t>(word >> (r % 2 * 32));
        nan += std::isnan(sum) ? 1 : 0;
        finite += std::isfinite(sum) ? 1 : 0;
        wrong += got != (std::isnan(sum) ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum)) ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(nan, 100U);
  EXPECT_GT(finite, 10000U);
}

INSTANTIATE_TEST_SUITE_P(all, MmaOfType, testing::Values("tf32", "e4m3", "e5m2"),
                         [](const auto& info) { return info.param; });

std::string stored(const std::string& form, int matrices, const char* change, std::vector<std::uint64_t>& o) {
  const char* words = matrices == 1 ? "{%w2}" : matrices == 2 ? "{%w2, %w3}" : "{%w2, %w3, %w4, %w5}";
  std::string body =
      ".shared .align 16 .b8 s[512];\nmov.u32 %w8, s;\nshl.b32 %w1, %i, 4;\nadd.u32 %w1, %w1, %w8;\n"
      "mul.lo.u32 %w2, %i, 0x01010101;\nadd.u32 %w3, %w2, 0x20202020;\nadd.u32 %w4, %w2, 0x40404040;\n"
      "add.u32 %w5, %w2, 0x60606060;\n";
  body += change + fmt::format("stmatrix.sync.aligned{}.shared.b16 [%w1], {};\nbar.sync 0;\n", form, words);
  body += fmt::format(
      "{}ld.shared.v2.u64 {{%d1, %d2}}, [%w1];\nadd.s64 %O, %O, %at;\n{}st.global.v2.u64 [%O], {{%d1, %d2}};",
      fmt::format("setp.lt.u32 %p3, %i, {};\n@%p3 ", 8 * matrices), "add.s64 %O, %O, %at;\n@%p3 ");
  std::vector<std::uint64_t> a(32);
  return run_module(module_of(body), a, o, 1, 32).said;
}

TEST(Stmatrix, puts_each_element_where_ldmatrix_takes_it_from) {  // PTX ISA 9.7.14: stmatrix
  for (const int matrices : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      std::vector<std::uint64_t> o(64);
      const std::string form = fmt::format(".m8n8.x{}{}", matrices, transposed ? ".trans" : "");
      EXPECT_EQ(stored(form, matrices, "", o), "") << form;
      for (int line = 0; line < 8 * matrices; ++line) {
        for (int column = 0; column < 8; ++column) {
          const int m = line / 8, row = line % 8;
          const int i = transposed ? column : row, j = transposed ? row : column;  // the lane has (i, j) and (i, j + 1)
          const auto byte = static_cast<std::uint64_t>(4 * i + j / 2 + 0x20 * m);
          const std::uint64_t word = o[static_cast<std::size_t>(2 * line + column / 4)];
          EXPECT_EQ(word >> 16 * (column % 4) & 0xffff, byte | byte << 8) << form << " " << line << " " << column;
        }
      }
    }
  }
}

TEST(Stmatrix, every_row_is_checked_and_the_whole_warp_is_there) {
  std::vector<std::uint64_t> o(64);
  EXPECT_THAT(stored(".m8n8.x1", 1, "setp.eq.u32 %p1, %i, 7;\n@%p1 mov.u32 %w1, 512;\n", o),
              HasSubstr("writes 16 bytes at 0x200 of shared memory"));
  EXPECT_THAT(stored(".m8n8.x1", 1, "setp.eq.u32 %p1, %i, 7;\n@%p1 exit;\n", o),
              HasSubstr("lanes 0x00000080 are missing"));
}

}  // namespace
}  // namespace flashproof::ptx
