// Derivation: README.md, section 3.
#include <algorithm>
#include <cmath>

#include "reference/bound/attention/attention_paths.h"

namespace flashproof::bound {

namespace {

constexpr double kSecond = 1 + 0x1p-20;  // products of two errors of at most 2^-21 each

}  // namespace

Exponents::Exponents(const Arithmetic& a, const ScoreScale& scale)
    : rounds_frame_(a.exponent == Exponent::fused || a.exponent == Exponent::unfused),
      unfused_(a.exponent == Exponent::unfused),
      c_error_(scale.c_error),
      exponential_(-std::log1p(-a.exp_error)) {
  // fl(x̂ − f) is exact where it is subnormal, and so are its operands (attention_scores.h: D_j has what reading them
  // loses): flushed, it loses less than 2^-126 of the unit of x̂. That is 2^-126·unit of a natural score, and unit may be
  // 2^127. What is flushed behind it is in octaves.
  exponential_ += scale.flushed_difference(a).count + (a.underflow == Underflow::flush ? 2 * kMinNormal : 0);
  const bool by_c =
      a.exponent == Exponent::fused || a.exponent == Exponent::unfused || a.exponent == Exponent::subtract_then_scale;
  ratio_slope_ = by_c ? ((1 + kU) * (1 + kU) * (1 + c_error_) - 1) * (1 + 0x1p-40) : exponent_slope(a);
  own_slope_ = a.exponent == Exponent::accurate ? kU : kU * (2 + kU);
}

Nats Exponents::frame_error(Nats low, Nats high) const {
  if (!rounds_frame_) return {};
  return {kU * (1 + c_error_) * kSecond * std::max(std::fabs(low.count), std::fabs(high.count)) + kTiny};
}

Exponents::Weight Exponents::weight(Nats frame_error) const {
  if (!rounds_frame_) return {.slope = ratio_slope_, .once = 0, .per_size = 0, .constant = 0};
  // The product with ĉ is inside one rounding where a weight is made (unfused: beside one of x·ĉ), two where a frame rises.
  return {.slope = ratio_slope_,
          .once = kU,
          .per_size = unfused_ ? kU * (1 + c_error_) * kSecond : 0,
          .constant = kU * kSecond * frame_error.count + kTiny};
}

}  // namespace flashproof::bound
