#include "reference/oracle/exact/exact_score.h"

#include <bit>

#include "reference/oracle/environment_guard.h"

namespace flashproof {

Dyadic dyadic(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto biased = static_cast<std::int32_t>((bits >> 52) & 0x7ff);
  if (biased == 0) return {};
  const std::uint64_t significand = (bits & 0xfffffffffffffU) | (std::uint64_t{1} << 52);
  const int zeros = std::countr_zero(significand);
  const auto odd = static_cast<std::int64_t>(significand >> zeros);
  return {(bits >> 63) != 0 ? -odd : odd, biased - 1075 + zeros};
}

void ExactScore::normalize() {
  for (int i = 0; i + 1 < kLimbs; ++i) {
    limb_[i + 1] += limb_[i] >> 32;  // arithmetic shift: floor, so that the rest is not negative
    limb_[i] &= 0xffffffff;
  }
}

std::strong_ordering ExactScore::operator<=>(const ExactScore& other) const {
  for (int i = kLimbs - 1; i >= 0; --i) {
    if (limb_[i] != other.limb_[i]) return limb_[i] <=> other.limb_[i];
  }
  return std::strong_ordering::equal;
}

ExactScore ExactScore::operator-(const ExactScore& other) const {
  ExactScore difference;
  for (int i = 0; i < kLimbs; ++i) difference.limb_[i] = limb_[i] - other.limb_[i];
  difference.normalize();
  return difference;
}

std::array<std::int64_t, ExactScore::kLimbs> ExactScore::magnitude() const {
  return negative() ? (ExactScore() - *this).limb_ : limb_;
}

ExactScore exact_score(double x) {
  ExactScore score;
  score.add(dyadic(x), {1, 0});
  score.normalize();
  return score;
}

}  // namespace flashproof
