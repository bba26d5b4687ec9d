#include "reference/model/attention/block_tile.h"

#include <algorithm>
#include <bit>

#include "reference/model/block_fma.h"

namespace flashproof {

namespace {

constexpr int kNoExponent = -4096;  // of zero: the sum of two such is below every other
constexpr int kF32Fraction = 23;

/// Factors of the tile: |value| = significand · 2^(exponent − fraction), the sign as a mask of ones.
template <int kRows, int kColumns>
struct Factors {
  std::int32_t significand[kRows][kColumns];
  std::int32_t exponent[kRows][kColumns];
  std::int32_t sign[kRows][kColumns];
  bool special = false;  // some infinity or NaN

  Factors(const std::uint16_t (&bits)[kRows][kColumns], int fraction) {
    const int exponents = (1 << (15 - fraction)) - 1;  // the field of infinities
    const int bias = exponents / 2;
    int specials = 0;
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        const std::int32_t magnitude = bits[i][j] & 0x7fff;
        const std::int32_t field = magnitude >> fraction;
        const std::int32_t hidden = field > 0 ? 1 << fraction : 0;
        significand[i][j] = (magnitude & ((1 << fraction) - 1)) | hidden;
        exponent[i][j] = magnitude == 0 ? kNoExponent : std::max(field, 1) - bias;
        sign[i][j] = -(bits[i][j] >> 15);
        specials |= field == exponents ? 1 : 0;
      }
    }
    special = specials != 0;
  }
};

/// One step of a row's eight elements: c becomes the result. False in `done` where the fast form does not hold: c no
/// finite number, or a result that is subnormal or beyond the range.
template <int kFraction>
void step(const BlockFma& unit, const Factors<kTileM, kTileK>& a, const Factors<kTileK, kTileN>& b, int row, int first,
          float (&c)[kTileN], bool (&done)[kTileN]) {
  std::int32_t c_significand[kTileN], c_exponent[kTileN], c_sign[kTileN], largest[kTileN];
  for (int n = 0; n < kTileN; ++n) {
    const auto bits = std::bit_cast<std::int32_t>(c[n]);
    const std::int32_t magnitude = bits & 0x7fffffff;
    const std::int32_t field = magnitude >> kF32Fraction;
    c_significand[n] = (magnitude & 0x7fffff) | (field > 0 ? 0x800000 : 0);
    c_exponent[n] = magnitude == 0 ? kNoExponent : std::max(field, 1) - 127;
    c_sign[n] = bits >> 31;
    largest[n] = std::max(kLeastAlignment, c_exponent[n]);
    done[n] = field != 255;
  }
  for (int k = first; k < first + unit.k; ++k) {
    for (int n = 0; n < kTileN; ++n) {
      largest[n] = std::max(largest[n], a.exponent[row][k] + b.exponent[k][n]);
    }
  }
  // Addends are below 2^(2 + f) <= 2^27: eight of them and c fit an int32, so that there are two sums.
  std::int32_t sum[2][kTileN];
  for (int n = 0; n < kTileN; ++n) {
    const std::int32_t addend =
        (c_significand[n] << (unit.f - kF32Fraction)) >> std::min(largest[n] - c_exponent[n], 31);
    sum[0][n] = (addend ^ c_sign[n]) - c_sign[n];
    sum[1][n] = 0;
  }
  for (int k = first; k < first + unit.k; ++k) {
    std::int32_t(&to)[kTileN] = sum[(k - first) / 8];
    for (int n = 0; n < kTileN; ++n) {
      const std::int32_t product = a.significand[row][k] * b.significand[k][n];
      const std::int32_t shift = std::min(largest[n] - (a.exponent[row][k] + b.exponent[k][n]), 31);
      const std::int32_t addend = (product << (unit.f - 2 * kFraction)) >> shift;
      const std::int32_t sign = a.sign[row][k] ^ b.sign[k][n];
      to[n] += (addend ^ sign) - sign;
    }
  }
  for (int n = 0; n < kTileN; ++n) {
    // Exact, then cut toward zero to 24 bits, then scaled by a power of two: exact again where the result is normal.
    const auto exact = std::bit_cast<std::uint64_t>(static_cast<double>(sum[0][n]) + static_cast<double>(sum[1][n]));
    const auto cut = std::bit_cast<double>(exact & ~std::uint64_t{0x1fffffff});
    const auto scale = std::bit_cast<double>(static_cast<std::uint64_t>(largest[n] - unit.f + 1023) << 52);
    const double result = cut * scale;
    const double magnitude = result < 0 ? -result : result;
    done[n] = done[n] && ((magnitude >= 0x1p-126 && magnitude < 0x1p128) || magnitude == 0);
    c[n] = done[n] ? static_cast<float>(result) : c[n];
  }
}

/// One element by block_fma(), the steps from `first` on.
float element(const BlockFma& unit, Format format, const BlockTile& tile, int row, int column, int first, float c) {
  float a[kTileK], b[kTileK];
  for (int k = 0; k < kTileK; ++k) {
    a[k] = static_cast<float>(decode(format, tile.a[row][k]));
    b[k] = static_cast<float>(decode(format, tile.b[k][column]));
  }
  for (int k = first; k < kTileK; k += unit.k) c = block_fma(unit, {format, format}, c, a + k, b + k, unit.k);
  return c;
}

template <int kFraction>
void fast_tile(const BlockFma& unit, Format format, BlockTile& tile) {
  const Factors<kTileM, kTileK> a(tile.a, kFraction);
  const Factors<kTileK, kTileN> b(tile.b, kFraction);
  const bool special = a.special || b.special;
  for (int row = 0; row < kTileM; ++row) {
    float(&d)[kTileN] = tile.d[row];
    bool settled[kTileN] = {};  // by element(), to its last step
    for (int first = 0; first < kTileK; first += unit.k) {
      float c[kTileN];
      bool done[kTileN] = {};
      std::copy_n(d, kTileN, c);
      if (!special) step<kFraction>(unit, a, b, row, first, c, done);
      for (int n = 0; n < kTileN; ++n) {
        if (settled[n]) continue;
        settled[n] = !done[n];
        d[n] = done[n] ? c[n] : element(unit, format, tile, row, n, first, d[n]);
      }
    }
  }
}

}  // namespace

void block_fma_tile(const BlockFma& unit, Format format, BlockTile& tile) {
  constexpr int kF16Fraction = 10, kBf16Fraction = 7;
  const bool fast = unit.ofb == kF32Fraction && unit.f >= kF32Fraction && unit.f <= 25;
  if (fast && format == Format::f16) return fast_tile<kF16Fraction>(unit, format, tile);
  if (fast && format == Format::bf16) return fast_tile<kBf16Fraction>(unit, format, tile);
  for (int row = 0; row < kTileM; ++row) {
    for (int n = 0; n < kTileN; ++n) tile.d[row][n] = element(unit, format, tile, row, n, 0, tile.d[row][n]);
  }
}

}  // namespace flashproof
