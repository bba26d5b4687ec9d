#include "reference/model/block_fma.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace flashproof {

namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::uint32_t kInfinityBits = 0x7f800000;
constexpr std::uint32_t kNanBits = 0x7fffffff;
constexpr int kFraction = 23;  // of f32
constexpr int kProductFraction = 2 * kFraction;
constexpr int kLeastExponent = -126;  // of f32
constexpr int kOverflowExponent = 128;

/// value = (negative ? −1 : 1) · significand · 2^(exponent − 23), significand below 2^24.
struct Parts {
  std::uint64_t significand;
  int exponent;
  bool negative;
};

/// Of a finite number whose format has this least exponent.
Parts parts_of(float x, int least_exponent) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto field = static_cast<int>((bits & kMagnitude) >> kFraction);
  const std::uint64_t fraction = bits & 0x7fffff;
  Parts parts{fraction, kLeastExponent, (bits >> 31) != 0};
  if (field > 0) parts = {fraction | 0x800000, field - 127, parts.negative};
  if (parts.exponent < least_exponent) {  // subnormal there: exact, the format has no bits below
    parts.significand >>= std::min(least_exponent - parts.exponent, 63);
    parts.exponent = least_exponent;
  }
  return parts;
}

/// Sign and magnitude at the scale 2^(exponent − 46).
struct Addend {
  std::uint64_t significand = 0;
  int exponent = 0;
  bool negative = false;
};

bool is_nan(std::uint32_t bits) { return (bits & kMagnitude) > kInfinityBits; }
bool is_infinite(std::uint32_t bits) { return (bits & kMagnitude) == kInfinityBits; }
bool is_zero(std::uint32_t bits) { return (bits & kMagnitude) == 0; }

/// What the infinities and NaN among the addends make of the sum.
struct Special {
  bool nan = false, positive = false, negative = false;

  void add(std::uint32_t bits) {
    nan = nan || is_nan(bits);
    if (is_infinite(bits)) ((bits >> 31) != 0 ? negative : positive) = true;
  }
  void add_product(std::uint32_t a, std::uint32_t b) {
    if (is_nan(a) || is_nan(b)) {
      nan = true;
    } else if (is_infinite(a) || is_infinite(b)) {
      if (is_zero(a) || is_zero(b))
        nan = true;
      else
        add(kInfinityBits | ((a ^ b) & 0x80000000));
    }
  }
  bool any() const { return nan || positive || negative; }
  float result() const {
    if (nan || (positive && negative)) return std::bit_cast<float>(kNanBits);
    return std::bit_cast<float>(negative ? kInfinityBits | 0x80000000 : kInfinityBits);
  }
};

/// sum · 2^scale, cut toward zero to `ofb` fraction bits.
float cut(std::int64_t sum, int scale, int ofb) {
  if (sum == 0) return 0.0F;
  const std::uint32_t sign = sum < 0 ? 0x80000000 : 0;
  std::uint64_t magnitude = sum < 0 ? -static_cast<std::uint64_t>(sum) : static_cast<std::uint64_t>(sum);
  const int exponent = scale + static_cast<int>(std::bit_width(magnitude)) - 1;
  if (exponent >= kOverflowExponent) return std::bit_cast<float>(sign | kInfinityBits);
  const int least = std::max(exponent, kLeastExponent);
  // In units of 2^(least − 23); the bits below 2^(least − ofb) are cleared.
  const int shift = least - kFraction - scale;
  if (shift >= 64) return std::bit_cast<float>(sign);
  magnitude = shift >= 0 ? magnitude >> shift : magnitude << -shift;
  magnitude = magnitude >> (kFraction - ofb) << (kFraction - ofb);
  // The hidden bit adds one to the exponent field; a subnormal has none and the field 0.
  const std::uint64_t field = static_cast<std::uint64_t>(least - kLeastExponent) << kFraction;
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(field + magnitude));
}

}  // namespace

float block_fma(const BlockFma& unit, BlockInputs inputs, float c, const float* a, const float* b, int n) {
  constexpr int kMost = 64;
  Addend addends[kMost + 1];
  Special special;
  special.add(std::bit_cast<std::uint32_t>(c));
  for (int k = 0; k < n; ++k)
    special.add_product(std::bit_cast<std::uint32_t>(a[k]), std::bit_cast<std::uint32_t>(b[k]));
  if (special.any()) return special.result();

  const Parts c_parts = parts_of(c, kLeastExponent);
  addends[0] = {c_parts.significand << kFraction, c_parts.exponent, c_parts.negative};
  const int a_least = info(inputs.a).min_exponent;
  const int b_least = info(inputs.b).min_exponent;
  for (int k = 0; k < n; ++k) {
    const Parts x = parts_of(a[k], a_least);
    const Parts y = parts_of(b[k], b_least);
    addends[k + 1] = {x.significand * y.significand, x.exponent + y.exponent, x.negative != y.negative};
  }
  int largest = kLeastAlignment;
  for (int k = 0; k <= n; ++k) {
    if (addends[k].significand != 0) largest = std::max(largest, addends[k].exponent);
  }
  std::int64_t sum = 0;
  for (int k = 0; k <= n; ++k) {
    if (addends[k].significand == 0) continue;
    const int shift = largest - addends[k].exponent + kProductFraction - unit.f;
    const auto cut_addend = static_cast<std::int64_t>(shift < 64 ? addends[k].significand >> shift : 0);
    sum += addends[k].negative ? -cut_addend : cut_addend;
  }
  return cut(sum, largest - unit.f, unit.ofb);
}

float cut_to_tf32(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~std::uint32_t{0x1fff}); }

}  // namespace flashproof
