// mma against the matrix unit's definition, element by element; ldmatrix by its definition; what a wrong warp or address gets.
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

constexpr int kRows = 16, kColumns = 8;

/// Halves by row and k or k and column, c by row and column: what a tile's fragments are made of.
struct Tile {
  std::uint16_t a[kRows][16], b[16][kColumns];
  std::uint32_t c[kRows][kColumns];
};

/// Half of the tiles hold numbers near one another, the others every kind of number; infinities and NaN in few of them.
Tile nasty_tile(std::mt19937& random, int exponent_bits) {
  const int fraction = 15 - exponent_bits, top = (1 << exponent_bits) - 1;
  const auto kind = random() % 8;
  const auto half = [&]() -> std::uint16_t {
    const auto bits = static_cast<std::uint16_t>(random());
    if (kind == 6 && random() % 32 != 0) return bits & 0x8000;  // sums of c and zeros
    const int field = kind < 4    ? top / 2 + static_cast<int>(random() % 3) - 1
                      : kind == 4 ? static_cast<int>(random() % 3)            // subnormals, zeros
                      : kind == 5 ? top - 1 - static_cast<int>(random() % 2)  // sums beyond the range
                                  : static_cast<int>(random() % static_cast<unsigned>(top));
    const int special = kind == 7 && random() % 64 == 0 ? top : field;
    const int mantissa = random() % 4 == 0 ? 0 : bits & ((1 << fraction) - 1);
    return static_cast<std::uint16_t>((bits & 0x8000) | special << fraction |
                                      (special == top && random() % 2 == 0 ? 0 : mantissa));
  };
  static constexpr std::uint32_t kNasty[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x3f800000,
                                             0xbf800001, 0x7f7fffff, 0xff7fffff, 0x33800000, 0x4b000001, 0x0c123456};
  Tile tile;
  for (auto& row : tile.a) std::ranges::generate(row, half);
  for (auto& row : tile.b) std::ranges::generate(row, half);
  for (auto& row : tile.c) {
    for (std::uint32_t& c : row) {
      c = random() % 2 == 0 ? kNasty[random() % std::size(kNasty)]
                            : (static_cast<std::uint32_t>(random()) & 0x87ffffff) | 0x38000000;
      if (kind == 7 && random() % 32 == 0) c = random() % 2 == 0 ? 0x7f800000 : 0xffc00001;
    }
  }
  return tile;
}

/// The ten words of a lane: a, b, c as the PTX ISA places them in fragments, absent ones 0.
std::vector<std::uint32_t> words_of_lane(const Tile& tile, int lane, int depth) {
  const auto pair = [](std::uint16_t low, std::uint16_t high) { return low | static_cast<std::uint32_t>(high) << 16; };
  const int group = lane >> 2, in_group = lane & 3;
  std::vector<std::uint32_t> words(10);
  for (int i = 0; i < depth / 4; ++i) {  // a: two numbers per register
    const int row = i % 2 == 0 ? group : group + 8, k = in_group * 2 + (i >= 2 ? 8 : 0);
    words[static_cast<std::size_t>(i)] = pair(tile.a[row][k], tile.a[row][k + 1]);
  }
  for (int i = 0; i < depth / 8; ++i) {
    const int k = in_group * 2 + 8 * i;
    words[static_cast<std::size_t>(4 + i)] = pair(tile.b[k][group], tile.b[k + 1][group]);
  }
  for (int i = 0; i < 4; ++i)
    words[static_cast<std::size_t>(6 + i)] = tile.c[i < 2 ? group : group + 8][in_group * 2 + (i & 1)];
  return words;
}

std::string mma_module(const std::string& type, int depth) {
  std::string body = "{\n.reg .b32 a<4>, b<2>;\n.reg .f32 c<4>;\nmul.wide.u32 %d1, %i, 40;\nadd.s64 %A, %A, %d1;\n";
  for (int i = 0; i < 10; ++i) {
    body += fmt::format("ld.global.{} {}{}, [%A+{}];\n", i < 6 ? "u32" : "f32",
                        i < 4   ? "a"
                        : i < 6 ? "b"
                                : "c",
                        i < 4   ? i
                        : i < 6 ? i - 4
                                : i - 6,
                        4 * i);
  }
  body +=
      fmt::format("mma.sync.aligned.m16n8k{0}.row.col.f32.{1}.{1}.f32 {{c0, c1, c2, c3}}, {2}, {{c0, c1, c2, c3}};\n",
                  depth, type, depth == 16 ? "{a0, a1, a2, a3}, {b0, b1}" : "{a0, a1}, {b0}");
  return module_of(body + "add.s64 %O, %O, %at;\nadd.s64 %O, %O, %at;\nst.global.v4.f32 [%O], {c0, c1, c2, c3};\n}");
}

class Mma : public testing::TestWithParam<std::pair<Format, int>> {};

TEST_P(Mma, has_the_bits_of_the_unit) {
  const auto [format, depth] = GetParam();
  constexpr unsigned kTiles = 300;
  std::mt19937 random(7);
  std::vector<Tile> tiles;
  std::vector<std::uint64_t> a, o(kTiles * 64);
  for (unsigned i = 0; i < kTiles; ++i) {
    tiles.push_back(nasty_tile(random, format == Format::f16 ? 5 : 8));
    for (int lane = 0; lane < 32; ++lane) {
      const std::vector<std::uint32_t> words = words_of_lane(tiles.back(), lane, depth);
      for (std::size_t w = 0; w < words.size(); w += 2)
        a.push_back(words[w] | static_cast<std::uint64_t>(words[w + 1]) << 32);
    }
  }
  EXPECT_EQ(run_module(mma_module(format == Format::f16 ? "f16" : "bf16", depth), a, o, kTiles, 32).said, "");
  unsigned nan = 0, infinite = 0, subnormal = 0, wrong = 0;
  for (unsigned i = 0; i < kTiles; ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int r = 0; r < 4; ++r) {
        const int row = lane / 4 + (r < 2 ? 0 : 8), column = lane % 4 * 2 + r % 2;
        float x[16], y[16];
        for (int k = 0; k < depth; ++k) {
          x[k] = static_cast<float>(decode(format, tiles[i].a[row][k]));
          y[k] = static_cast<float>(decode(format, tiles[i].b[k][column]));
        }
        const float sum =
            block_fma(kHopperF16, {format, format}, std::bit_cast<float>(tiles[i].c[row][column]), x, y, depth);
        const std::uint64_t word = o[i * 64 + static_cast<unsigned>(lane) * 2 + static_cast<unsigned>(r) / 2];
        const auto got = static_cast<std::uint32_t>(word >> (r % 2 * 32));
        nan += std::isnan(sum) ? 1 : 0;
        infinite += std::isinf(sum) ? 1 : 0;
        subnormal += std::fpclassify(sum) == FP_SUBNORMAL ? 1 : 0;
        if (got != std::bit_cast<std::uint32_t>(sum) && ++wrong < 4)
          ADD_FAILURE() << fmt::format("tile {} ({}, {}): {:#x}, expected {:#x}", i, row, column, got,
                                       std::bit_cast<std::uint32_t>(sum));
      }
    }
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(nan, 100U);
  EXPECT_GT(infinite, 100U);
  EXPECT_GT(subnormal, 10U);
}

INSTANTIATE_TEST_SUITE_P(all, Mma,
                         testing::Values(std::pair{Format::f16, 16}, std::pair{Format::f16, 8},
                                         std::pair{Format::bf16, 16}, std::pair{Format::bf16, 8}),
                         [](const auto& info) {
                           return fmt::format("{}_k{}", info.param.first == Format::f16 ? "f16" : "bf16",
                                              info.param.second);
                         });

std::string said(const std::string& body, unsigned threads = 32) {
  std::vector<std::uint64_t> a(512), o(512);
  return run_module(module_of(body), a, o, 1, threads).said;
}

constexpr const char* kMma =
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%w1, %w2, %w3, %w4}, {%w5, %w6}, {%w7}, {%w1, %w2, %w3, %w4};\n";

TEST(MatrixWarp, a_missing_lane_is_a_finding) {
  EXPECT_THAT(said(kMma, 20), HasSubstr("a matrix instruction by a part of a warp: lanes 0xfff00000 are missing"));
  EXPECT_THAT(said(std::string("setp.ne.u32 %p1, %i, 7;\n@%p1 ") + kMma + "bar.sync 0;"), HasSubstr("deadlock"));
  EXPECT_THAT(said(std::string("setp.eq.u32 %p1, %i, 7;\n@%p1 exit;\n") + kMma),
              HasSubstr("lanes 0x00000080 are missing"));
}

TEST(MatrixWarp, lanes_that_went_different_ways_meet_first) {
  EXPECT_EQ(said(std::string("setp.lt.u32 %p1, %i, 9;\n@%p1 bra $J;\nadd.u32 %w1, %w1, 1;\n$J:\n") + kMma), "");
}

/// Number i of shared memory's 16-bit numbers is i; lane l brings row l * 7 % 32 of the 32 rows of 16 bytes.
std::string ldmatrix_body(const std::string& form, int matrices, const char* space = "") {
  std::string body =
      ".shared .align 16 .b8 s[512];\nmov.u32 %w8, s;\nshl.b32 %w1, %i, 4;\nadd.u32 %w1, %w1, %w8;\nshl.b32 %w2, %i, "
      "3;\nadd.u32 %w4, %w2, 1;\nprmt.b32 %w3, %w2, %w4, 0x5410;\n";
  for (int i = 0; i < 4; ++i)
    body += fmt::format("st.shared.u32 [%w1+{}], %w3;\nadd.u32 %w3, %w3, 0x00020002;\n", 4 * i);
  body +=
      "bar.warp.sync -1;\nmul.lo.u32 %w1, %i, 7;\nand.b32 %w1, %w1, 31;\nshl.b32 %w1, %w1, 4;\nadd.u32 %w1, %w1, "
      "%w8;\nmov.u32 %w2, 0;\nmov.u32 %w3, 0;\nmov.u32 %w4, 0;\nmov.u32 %w5, 0;\n";
  body += space;
  body += form + (matrices == 1   ? " {%w2}, [%w1];\n"
                  : matrices == 2 ? " {%w2, %w3}, [%w1];\n"
                                  : " {%w2, %w3, %w4, %w5}, [%w1];\n");
  return body + "add.s64 %O, %O, %at;\nadd.s64 %O, %O, %at;\nst.global.v4.u32 [%O], {%w2, %w3, %w4, %w5};";
}

TEST(Ldmatrix, gives_each_lane_its_elements) {
  for (const int matrices : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      const char* trans = transposed ? ".trans" : "";
      const std::string form =  // in the orders that compilers write
          "ldmatrix.sync.aligned" +
          (matrices == 1   ? fmt::format("{}.m8n8.x1", trans)
           : matrices == 2 ? fmt::format(".x2{}.m8n8", trans)
                           : fmt::format(".m8n8.x4{}", trans)) +
          ".shared.b16";
      std::vector<std::uint64_t> a(512), o(64);
      EXPECT_EQ(run_module(module_of(ldmatrix_body(form, matrices)), a, o, 1, 32).said, "") << form;
      for (int lane = 0; lane < 32; ++lane) {
        for (int m = 0; m < 4; ++m) {
          const auto number = [&](int row, int column) {
            return static_cast<std::uint32_t>((8 * m + row) * 7 % 32 * 8 + column);
          };
          const int i = lane / 4, j = lane % 4 * 2;
          const std::uint32_t expected =
              transposed ? number(j, i) | number(j + 1, i) << 16 : number(i, j) | number(i, j + 1) << 16;
          const auto got = static_cast<std::uint32_t>(o[static_cast<std::size_t>(2 * lane + m / 2)] >> (m % 2 * 32));
          EXPECT_EQ(got, m < matrices ? expected : 0) << form << " lane " << lane << " matrix " << m;
        }
      }
    }
  }
}

TEST(Ldmatrix, every_row_that_is_read_is_checked_and_no_other) {
  const auto moved = [](const char* change, int matrices = 4) {
    return said(ldmatrix_body(fmt::format("ldmatrix.sync.aligned.m8n8.x{}.shared.b16", matrices), matrices, change));
  };
  EXPECT_THAT(moved("setp.eq.u32 %p1, %i, 9;\n@%p1 add.u32 %w1, %w1, 8;\n"),
              HasSubstr("which is no multiple of 16, in block (0, 0, 0), thread (9, 0, 0)"));
  EXPECT_THAT(moved("setp.eq.u32 %p1, %i, 31;\n@%p1 mov.u32 %w1, 512;\n"),
              HasSubstr("reads 16 bytes at 0x200 of shared memory, which has 512 bytes"));
  EXPECT_EQ(moved("setp.ge.u32 %p1, %i, 16;\n@%p1 mov.u32 %w1, 513;\n", 2), "");
  EXPECT_THAT(moved("setp.ge.u32 %p1, %i, 15;\n@%p1 mov.u32 %w1, 513;\n", 2), HasSubstr("thread (15, 0, 0)"));
}

TEST(Ldmatrix, reads_shared_memory_only_and_tells_what_was_not_written) {
  constexpr const char* kForm = "ldmatrix.sync.aligned.m8n8.x1.b16 {%w2}, [%d1];";
  EXPECT_THAT(said(std::string("mov.u64 %d1, %A;\n") + kForm), HasSubstr("outside of shared memory"));
  EXPECT_THAT(said(std::string(".shared .align 16 .b8 s[128];\nmov.u64 %d1, s;\ncvta.shared.u64 %d1, %d1;\n") + kForm),
              HasSubstr("reads 16 bytes at 0x0 of shared memory that were not all written before"));
}

TEST(MatrixOperands, are_counted) {
  EXPECT_THAT(said("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%w1, %w2, %w3, %w4}, {%w5, %w6}, {%w7, %w7}, "
                   "{%w1, %w2, %w3, %w4};"),
              HasSubstr("operand 2: 4 elements wanted"));
  EXPECT_THAT(said("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%w1}, [%w2];"),
              HasSubstr("operand 1: 2 elements wanted"));
  EXPECT_THAT(said("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%w2];"), HasSubstr("register %d1 has 64 bits"));
  EXPECT_THAT(said("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%w1};"), HasSubstr("no such instruction here"));
}

}  // namespace
}  // namespace flashproof::ptx
