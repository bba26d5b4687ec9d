#include "reference/bound/costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

namespace {

constexpr double kLog2e = 1.4426950408889634;

}  // namespace

double constant_share(Nats constant, Nats cost) {
  if (constant.count == 0) return 0;
  // e^cost: what depends on the exponent is convex in it, so its last part may count for more than its share.
  const double share = constant.count / cost.count * std::exp(std::min(cost.count, 700.0)) * kSlack;
  return share < 1 ? share : 1;  // inf/inf too
}

Nats exponential_cost(const Arithmetic& a) { return {-std::log1p(-a.exp_error) * kSlack}; }

Precondition head_room(const Arithmetic& a, Nats frame, double terms) {
  const Octaves reach = Rate<Octaves, Nats>{kLog2e}(frame_cost(a, frame)) + Octaves{std::log2(terms)};
  return {"head-room of the fused exponent, in octaves", reach.count, 126};
}

double reciprocal_cost(const Arithmetic& a, double largest) {
  if (a.ending != Ending::multiply_reciprocal) return 0;
  const double error = a.reciprocal_error == 0 ? kU : a.reciprocal_error;
  // The computed one may be subnormal where the exact one is not.
  const double lost = largest < 0x1p126 * (1 - error) ? 0 : product_underflow(a) * largest * kSlack;
  const double relative = error + lost;
  return relative < 1 ? -std::log1p(-relative) * kSlack : std::numeric_limits<double>::infinity();
}

Nats factor_underflow_cost(const Arithmetic& a, Nats log) {
  if (log.count < kLogMinNormal - 0x1p-10) return {};
  return log.count < 700 ? Nats{std::log1p(exp_underflow(a) * std::exp(log.count)) * kSlack} : log;
}

double underflow_of(const Arithmetic& a, double products, double sums) {
  const double operations = products + (a.underflow == Underflow::flush ? sums : 0);
  return operations * product_underflow(a);
}

double sum_cost(double sum, double term) { return std::min(kU * std::fabs(sum), std::fabs(term)) * kSlack; }

}  // namespace flashproof::bound
