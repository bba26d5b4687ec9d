// The tile against block_fma(), bit for bit: any patterns, NaN and subnormals included, and numbers near one another.
#include "reference/model/attention/block_tile.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "reference/model/block_fma.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

enum class Draw : std::uint8_t { normal, anything, near, finite, edge, same };
constexpr Draw kDraws[] = {Draw::normal, Draw::anything, Draw::near, Draw::finite, Draw::edge, Draw::same};

std::uint16_t pattern(Random& random, Format format, Draw kind) {
  const bool negative = random.chance(0.5);
  const double mantissa = random.uniform(1, 2);
  double x = random.normal();
  if (kind == Draw::anything) return static_cast<std::uint16_t>(random.integer(0, 0xffff));
  if (kind == Draw::finite) {
    const auto magnitude = random.integer(0, static_cast<std::int64_t>(max_finite_bits(format)));
    return static_cast<std::uint16_t>(magnitude | (negative ? 0x8000 : 0));
  }
  if (kind == Draw::near) x = std::ldexp(mantissa, static_cast<int>(random.integer(-14, 4)));
  if (kind == Draw::edge) x = std::ldexp(mantissa, static_cast<int>(random.integer(-80, -58)));  // of f32's range
  if (kind == Draw::same) x = info(format).precision == 11 ? 0x1.ffcp0 : 0x1.fep0;  // the largest sum of products
  return static_cast<std::uint16_t>(encode(format, negative && kind != Draw::same ? -x : x));
}

TEST(BlockTile, equals_block_fma_bit_for_bit) {
  for (const Format format : {Format::f16, Format::bf16}) {
    for (const BlockFma& unit : {kHopperF16, kAmpereF16, kVoltaF16}) {
      std::uint64_t subnormal = 0, special = 0, different = 0;
      for (std::uint64_t round = 0; round < 300; ++round) {
        Random random(round, 31);
        const Draw kind = kDraws[round % std::size(kDraws)];
        BlockTile tile{};
        for (auto& row : tile.a)
          for (auto& x : row) x = pattern(random, format, kind);
        for (auto& row : tile.b)
          for (auto& x : row) x = pattern(random, format, kind);
        const int exponent = static_cast<int>(random.integer(-150, 120));
        for (auto& row : tile.d) {
          for (auto& x : row) {
            x = static_cast<float>(random.normal());
            if (round / 6 % 3 == 1) x = std::ldexp(x, exponent);
            if (round / 6 % 3 == 2) x = 0;
            if (kind == Draw::anything && random.chance(0.1)) x = std::bit_cast<float>(0xff800000u);
          }
        }
        const BlockTile before = tile;
        block_fma_tile(unit, format, tile);
        for (int i = 0; i < kTileM; ++i) {
          for (int n = 0; n < kTileN; ++n) {
            float c = before.d[i][n];
            for (int first = 0; first < kTileK; first += unit.k) {
              float a[kTileK], b[kTileK];
              for (int k = 0; k < unit.k; ++k) {
                a[k] = static_cast<float>(decode(format, before.a[i][first + k]));
                b[k] = static_cast<float>(decode(format, before.b[first + k][n]));
              }
              c = block_fma(unit, {format, format}, c, a, b, unit.k);
            }
            ASSERT_EQ(std::bit_cast<std::uint32_t>(tile.d[i][n]), std::bit_cast<std::uint32_t>(c))
                << info(format).name << " k " << unit.k << " round " << round << " element " << i << ", " << n;
            subnormal += c != 0 && std::fabs(c) < 0x1p-126F;
            special += !std::isfinite(c);
            different += c != before.d[i][n];
          }
        }
      }
      if (format == Format::bf16) {
        EXPECT_GT(subnormal, 100U);  // products of f16 are all normal
      }
      EXPECT_GT(special, 1000);
      EXPECT_GT(different, 20000);
    }
  }
}

}  // namespace
}  // namespace flashproof
