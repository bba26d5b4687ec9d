#include "reference/bound/costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/row_model.h"

namespace flashproof::bound {

namespace {

constexpr double kLog2e = 1.4426950408889634;
constexpr double kLog2eError = 0x1.dp-27;  // |fl(log2 e) / log2 e − 1| = 1.335e-8
constexpr double kOneRounding = ((1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-40);
/// A subnormal product or difference: 2^-150, or flushed with its operands 3·2^-126. Far below what 2^-50 of anything
/// pays for, but an argument may be as small.
constexpr double kTiny = 0x1p-120;

}  // namespace

bool rounds_frame(const Arithmetic& a) { return a.exponent == Exponent::fused || a.exponent == Exponent::unfused; }

double frame_cost(const Arithmetic& a, double frame) {
  return rounds_frame(a) ? kOneRounding * std::fabs(frame) * kSlack + kTiny : 0;
}

double argument_cost(const Arithmetic& a, double gap, double x, double frame) {
  const double flushed = a.underflow == Underflow::flush ? kTiny : 0;
  if (!rounds_frame(a)) {
    return (exponent_slope(a) * gap + 0x1p-50 * gap) * kSlack + flushed;
  }
  // fma(x, ĉ, −F), F = fl(f·ĉ): one rounding, of a number that has F's error in it. Unfused, fl(x·ĉ) errs too.
  const double frame_error = frame_cost(a, frame);
  const double product = a.exponent == Exponent::unfused ? kOneRounding * std::fabs(x) * (1 + kU) : 0;
  return ((kOneRounding + 0x1p-50) * gap + kU * (frame_error + product) + product) * kSlack + kTiny;
}

double unshifted_cost(const Arithmetic& a, double x) {
  return a.exponent == Exponent::accurate ? 0 : kOneRounding * std::fabs(x) * kSlack + kTiny;
}

double constant_cost(const Arithmetic& a, double gap) {
  return a.exponent == Exponent::accurate ? 0 : kLog2eError * std::fabs(gap) * kSlack;
}

double constant_share(double constant, double cost) {
  if (constant == 0) return 0;
  // e^cost: what depends on the exponent is convex in it, so its last part may count for more than its share.
  const double share = constant / cost * std::exp(std::min(cost, 700.0)) * kSlack;
  return share < 1 ? share : 1;  // inf/inf too
}

double exponential_cost(const Arithmetic& a) { return -std::log1p(-a.exp_error) * kSlack; }

Precondition head_room(const Arithmetic& a, double frame, double terms) {
  const double octaves = frame_cost(a, frame) * kLog2e;
  return {"head-room of the fused exponent, in octaves", octaves + std::log2(terms), 126};
}

double reciprocal_cost(const Arithmetic& a, double largest) {
  if (a.ending != Ending::multiply_reciprocal) return 0;
  const double lost = largest < 0x1p126 ? 0 : product_underflow(a) * largest * kSlack;
  const double relative = (a.reciprocal_error == 0 ? kU : a.reciprocal_error) + lost;
  return relative < 1 ? -std::log1p(-relative) * kSlack : std::numeric_limits<double>::infinity();
}

double underflow_of(const Arithmetic& a, double products, double sums) {
  const double operations = products + (a.underflow == Underflow::flush ? sums : 0);
  return operations * product_underflow(a);
}

double sum_cost(double sum, double term) { return std::min(kU * std::fabs(sum), std::fabs(term)) * kSlack; }

}  // namespace flashproof::bound
