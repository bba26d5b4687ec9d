// Scores without any rounding: s = Σ a·b in fixed point (Kulisch's accumulator). A score is a sum of products of at
// most three f32 numbers, scale·q·k + bias − slope·distance, so it is a dyadic rational of bounded size and fits. With descale
// factors there are five, and what fits is the score divided by a power of two (attention_rows.cc).
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace flashproof {

/// A finite double as significand · 2^exponent.
struct Dyadic {
  std::int64_t significand = 0;
  std::int32_t exponent = 0;
};

/// The significand is odd, or 0. x is finite and not a subnormal double (no f32 value and no product of two is one).
Dyadic dyadic(double x);

class ExactScore {
 public:
  // Lowest bit of scale·q·k: (2^-149)^3 = 2^-447. Largest: 2^(3·128) per term, so with up to 2^23 terms below 2^408.
  static constexpr int kLowestExponent = -448;
  static constexpr int kLimbs = 29;  // 29·32 − 448 = 480: room for the sign and the carries too

  /// Adds a·b. a is a product of at most two f32 values, b is an f32 value; or a is an f32 value and |b| an integer
  /// below 2^31. At most 2^23 calls.
  void add(Dyadic a, Dyadic b) {
    if (a.significand == 0 || b.significand == 0) return;
    __extension__ typedef __int128 Wide;
    const Wide product = static_cast<Wide>(a.significand) * b.significand;  // below 2^(48 + 24)
    const int position = a.exponent + b.exponent - kLowestExponent;
    add_magnitude(static_cast<Unsigned>(product < 0 ? -product : product), position, product < 0);
  }
  /// Carries resolved: limbs in [0, 2^32) except the highest, which has the sign. Compare and subtract need this.
  void normalize();

  /// Both normalized. A total order, equal only if the numbers are equal.
  std::strong_ordering operator<=>(const ExactScore& other) const;
  bool operator==(const ExactScore& other) const = default;
  /// Both normalized; so is the result.
  ExactScore operator-(const ExactScore& other) const;

  bool negative() const { return limb_[kLimbs - 1] < 0; }
  /// Limbs of |this|, least first, each in [0, 2^32); limb i has weight 2^(32 i + kLowestExponent). Normalized only.
  std::array<std::int64_t, kLimbs> magnitude() const;

 private:
  __extension__ typedef unsigned __int128 Unsigned;

  void add_magnitude(Unsigned magnitude, int position, bool minus) {
    const int first = position / 32;
    magnitude <<= position % 32;  // below 2^(72 + 31): four limbs
    for (int i = 0; i < 4 && first + i < kLimbs; ++i) {
      const auto part = static_cast<std::int64_t>(magnitude & 0xffffffffU);
      limb_[first + i] += minus ? -part : part;
      magnitude >>= 32;
    }
  }

  std::array<std::int64_t, kLimbs> limb_{};
};

/// The exact value of one f32 number.
ExactScore exact_score(double x);

}  // namespace flashproof
