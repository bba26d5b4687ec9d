// Derivation: attention.md, section 3.
#include <algorithm>
#include <cmath>

#include "reference/bound/attention_paths.h"

namespace flashproof::bound {

namespace {

constexpr double kSecond = 1 + 0x1p-20;  // products of two errors of at most 2^-21 each
/// In nats: f·ĉ, a difference or a product below the normal range, flushed with its operands.
constexpr double kTiny = 0x1p-120;

}  // namespace

Exponents::Exponents(const Arithmetic& a, const ScoreScale& scale)
    : rounds_frame_(a.exponent == Exponent::fused || a.exponent == Exponent::unfused),
      unfused_(a.exponent == Exponent::unfused),
      c_error_(scale.c_error),
      exponential_(-std::log1p(-a.exp_error)) {
  const bool by_c =
      a.exponent == Exponent::fused || a.exponent == Exponent::unfused || a.exponent == Exponent::subtract_then_scale;
  ratio_slope_ = by_c ? ((1 + kU) * (1 + kU) * (1 + c_error_) - 1) * (1 + 0x1p-40) : exponent_slope(a);
  own_slope_ = a.exponent == Exponent::accurate ? kU : kU * (2 + kU);
}

double Exponents::frame_error(double low, double high) const {
  return rounds_frame_ ? kU * (1 + c_error_) * kSecond * std::max(std::fabs(low), std::fabs(high)) + kTiny : 0;
}

Exponents::Weight Exponents::weight(double frame_error) const {
  if (!rounds_frame_) return {.slope = ratio_slope_, .once = 0, .per_size = 0, .constant = 0};
  // The product with ĉ is inside one rounding where a weight is made (unfused: beside one of x·ĉ), two where a frame rises.
  return {.slope = ratio_slope_,
          .once = kU,
          .per_size = unfused_ ? kU * (1 + c_error_) * kSecond : 0,
          .constant = kU * kSecond * frame_error + kTiny};
}

}  // namespace flashproof::bound
