// Sum of doubles without any rounding until value() (Kulisch's long accumulator): addition is associative and
// commutative to the bit.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace flashproof {

class ExactSum {
 public:
  /// x finite; anything else sets a sticky NaN.
  void add(double x);
  void merge(const ExactSum& other);
  /// The sum, rounded once to nearest (ties to even); ±inf beyond the range of double.
  double value() const;
  /// The sum rounded to odd: itself if it is a double, else the one of its two neighbours whose significand is odd.
  /// A second rounding to nearest, to at most 51 bits, then gives what one rounding of the sum would have given
  /// (Boldo & Melquiond 2008). Beyond the range of double: ± the largest double, which is odd.
  double value_to_odd() const;
  bool operator==(const ExactSum& other) const;
  /// "nan", "0", or sign, lowest limb's index, '.', limbs from there up, eight hex digits each; no spaces. One text
  /// per sum. deserialize throws UsageError on every other text.
  std::string serialize() const;
  static ExactSum deserialize(std::string_view text);

 private:
  // Fixed point, radix 2^32: limb i has weight 2^(32 i − 1088), so that limb 0 holds 2^-1074 and 68 limbs hold 2^64
  // times the largest double. Two more are the sign's and head-room. Limbs are signed and wider than 32 bits; carries
  // are resolved when `pending_` (additions since the last time, each below 2^33 per limb) says so.
  static constexpr int kLimbs = 70;
  static constexpr int kBias = 1088;
  struct Magnitude {
    bool negative = false;
    std::array<std::uint32_t, kLimbs + 2> limb{};  // two zero limbs on top, so that bits() may read across the end
    int highest_bit = -1;                          // −1: the sum is zero
    std::uint64_t bits(int from) const;            // 64 bits, the lowest of weight 2^(from − kBias)
    bool any_below(int bit) const;
  };
  static constexpr std::uint32_t kPendingLimit = 1U << 28;  // 2^28 · 2^33 = 2^61 stays clear of the limb's sign bit
  static constexpr std::int64_t kLow32 = 0xffffffff;
  void normalize();
  Magnitude magnitude() const;

  std::array<std::int64_t, kLimbs> limb_{};
  std::uint32_t pending_ = 0;
  bool nan_ = false;
};

// ---------------------------------------------------------------------------------------------------------------------

inline void ExactSum::add(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const int exponent_field = static_cast<int>(bits >> 52 & 0x7ff);
  std::uint64_t significand = bits & 0xfffffffffffff;
  if (exponent_field == 0x7ff) {
    nan_ = true;
    return;
  }
  if (exponent_field != 0) significand |= std::uint64_t{1} << 52;
  if (significand == 0) return;
  if (pending_ >= kPendingLimit) normalize();
  ++pending_;
  // x = ± significand · 2^(e − 1074); the lowest bit sits at position e + 14 >= 14 of the accumulator.
  const int position = (exponent_field == 0 ? 0 : exponent_field - 1) - 1074 + kBias;
  const int shift = position % 32;
  std::int64_t* limb = &limb_[static_cast<std::size_t>(position / 32)];
  const auto low = static_cast<std::int64_t>((significand & 0xffffffff) << shift);  // < 2^63
  const auto high = static_cast<std::int64_t>((significand >> 32) << shift);        // < 2^52
  const std::int64_t sign = std::signbit(x) ? -1 : 1;
  limb[0] += sign * (low & kLow32);
  limb[1] += sign * ((low >> 32) + (high & kLow32));
  limb[2] += sign * (high >> 32);
}

}  // namespace flashproof
