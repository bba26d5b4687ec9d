// Scores and weights of a query row: x = s − λ of every key in double, and what the declared arithmetic makes of P = e^x.
//
//   computes     s = τ q·k + bias − slope·distance;  λ = lse, stored or m + ln Σ e^(s − m);  x = s − λ
//   error        |P̂ − P| ≤ P (e^(κ + η) − 1) + ζ: κ of the row, η of the key, ζ of a subnormal result
//   here         in double; slops have what s, λ and x are off by
//   edges        only keys with a weight get x and h; lse = ±inf, scores that are none and hidden keys are the view's to tell
//   source       README.md, sections 1, 4 and 7
#include <algorithm>
#include <cmath>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/backward/pair_row.h"
#include "reference/bound/row/row_model.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {
namespace {

using backward::View;

constexpr double kLog2eError = 1.36e-8;        // |fl(log2 e) − log2 e| / log2 e = 1.335e-8
constexpr Rate<Octaves, Nats> kLog2E{1.4427};  // from above: the argument of exp2

/// λ: stored (stage), or m + ln Σ e^(s − m).
void set_lse(const PairCosts& costs, PairRow& row) {
  if (costs.stage()) {
    row.lse = {costs.view.lse[row.row]};
    return;
  }
  Nats top{-kInfinity}, slop;
  for (const PairKey& key : row.keys) top = std::max(top, key.score);
  double sum = 0;
  for (const PairKey& key : row.keys) {
    sum += std::exp((key.score - top).count);
    slop = std::max(slop, key.score_slop);
  }
  row.lse = top + Nats{std::log(sum)};
  row.lse_slop = slop + Nats{static_cast<double>(row.keys.size() + 16) * 2 * kD} + abs(row.lse) * (2 * kD);
  row.given = {costs.forward.lse[row.row]};
}

/// A product with fl(log2 e): its rounding, and the constant's.
constexpr double kFold = ((1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-20);

/// Relative error of ĉ: fl(log2 e), or of raw scores fl(τ·fl(log2 e)) with a rounding more, which is absolute where τ is
/// subnormal; 0 in its place where that is flushed.
double constant_error(const PairCosts& costs) {
  if (costs.a.unit != ScoreUnit::raw) return kLog2eError * (1 + 0x1p-20);
  const double scale = std::fabs(costs.view.scale);
  if (scale == 0 || scale >= 0x1p-126) return kFold;
  return costs.scale_lost ? 1 : kFold + 0x1p-150 / scale;
}

/// ρ_ij of README.md, section 1. `size` >= |s| + E; `below` >= |s − λ| + E + Λ; `reach` >= |λ| + Λ.
Nats exponent_rounding(const PairCosts& costs, Nats size, Nats below, Nats reach) {
  switch (costs.a.exponent) {
    case Exponent::accurate:
      return below * kU;
    case Exponent::scaled_exp2:
      return below * (((1 + kU) * (1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-20));
    case Exponent::fused:
    case Exponent::unfused: {
      // ĉ; then the product's own rounding, unless it is fused.
      const double constant = constant_error(costs);
      const double product = (costs.a.exponent == Exponent::unfused ? kU * (1 + constant) : 0) + constant;
      const Nats error = size * product + reach * kFold;
      return size * product + (below + error) * kU;
    }
    case Exponent::subtract_then_scale:
      break;  // refused before
  }
  return {kInfinity};
}

/// Of a number of log units that becomes an argument of e^x or, in octaves, of 2^x.
double argument_size(const BackwardArithmetic& a, Nats size) {
  return a.exponent == Exponent::accurate ? size.count : kLog2E(size).count;
}

/// x, slop and h of every key, κ of the row (README.md, section 1).
void set_weights(const PairCosts& costs, PairRow& row) {
  const BackwardArithmetic& a = costs.a;
  const Nats reach = abs(row.lse) + row.given + row.lse_slop;
  row.common = row.given;
  const bool folded = a.exponent == Exponent::fused || a.exponent == Exponent::unfused;
  if (folded) row.common += reach * kFold + Nats{costs.eta};
  row.common += Nats{costs.flush};  // of a subnormal lse
  for (PairKey& key : row.keys) {
    key.x = key.score - row.lse;
    key.slop = key.score_slop + row.lse_slop + abs(key.x) * kD + Nats{4 * kD};
    const Nats below = abs(key.x) + key.slop + key.score_error + row.given;
    const Nats size = abs(key.score) + key.score_error;
    const Nats rounding = exponent_rounding(costs, size, below, reach);
    const Nats exponential{std::log1p(-a.exp_error)};
    key.h = (key.score_error + rounding + Nats{3 * (costs.eta + costs.flush)} - exponential) * kSlack;
    key.reach = std::max(key.reach, argument_size(a, reach));
  }
  row.common = row.common * kSlack;
}

}  // namespace

PairKey key_of(const PairCosts& costs, std::int64_t row, const View::Row& at, std::int64_t j) {
  const View& view = costs.view;
  const BackwardArithmetic& a = costs.a;
  const AttentionProblem& f = view.problem.forward;
  const Rate<Nats, Dot> scale{view.scale}, magnitude{std::fabs(view.scale)};
  PairKey key;
  key.row = view.key_row(at, j);
  DotSums t = products_of(&view.q[row * view.d], &view.k[key.row * view.d], view.d);
  if (a.dot.unit.k > 0) t.aligned = aligned_dot(costs.q, row, costs.k, key.row, view.d);
  const Dot dot{t.value}, size{t.size}, dot_error{costs.error_of(costs.dot, a.dot, t)};
  const auto distance = static_cast<double>(view.distance(at, j));
  const Nats scaled = scale(dot), bias{view.bias(at, j)}, alibi{view.slope(at) * distance};
  key.score = scaled + bias + alibi;
  key.score_slop = Nats{magnitude.factor * static_cast<double>(view.d + 4) * kD * t.size} +
                   (abs(scaled) + abs(bias) + abs(alibi)) * (2 * kD);
  Nats error = magnitude(dot_error) + key.score_slop;
  const auto reaches = [&](double number) { key.reach = std::max(key.reach, number); };
  key.reach = (size + dot_error).count;
  if (a.factors_scaled) {  // fl(q r)·fl(k r), r = fl(√|τ|): four roundings of each product, and what underflows of a factor
    const double root = std::sqrt(magnitude.factor) * kSlack;
    const Rate<Nats, Dot> rounded{growth(roundings(4)) * magnitude.factor};
    error += rounded(size + dot_error) + Nats{(costs.eta + costs.flush) * (2 + t.sum) * (root + 1) * kSlack};
    // τ is in the products: what they lose does not shrink with it.
    error += Nats{costs.dot.lost * (1 + costs.dot.growth) * kSlack};
    reaches(std::max(root * t.sum, magnitude(size).count) * kSlack);
  }
  if (a.unit == ScoreUnit::natural) {  // fl(τ t̂), + bias, + fl(slope · distance)
    error += (abs(scaled) + error) * kU + Nats{costs.eta} + magnitude(Dot{costs.flush});
    if (costs.scale_lost) error += magnitude(size + dot_error);
    reaches((abs(scaled) + error).count);
    if (f.has_bias()) {
      error += (abs(scaled + bias) + error) * kU + Nats{2 * costs.flush};
      reaches((abs(scaled + bias) + error).count);  // ALiBi may bring it back
    }
    if (f.has_alibi()) {
      reaches(abs(alibi).count * (1 + 2 * kU));
      // A flushed slope is lost times the distance.
      error += abs(alibi) * (2 * kU) * (1 + kU) + Nats{costs.eta} + Nats{costs.flush * distance};
      error += (abs(key.score) + error) * kU + Nats{2 * costs.flush};
    }
  }
  key.score_error = error * kSlack;
  reaches(argument_size(a, abs(key.score) + key.score_error));
  key.dp = products_of(&view.d_out[row * view.dv], &view.v[key.row * view.dv], view.dv);
  if (a.products.unit.k > 0) key.dp.aligned = aligned_dot(costs.d_out, row, costs.v, key.row, view.dv);
  return key;
}

PairRow pair_row(const PairCosts& costs, std::int64_t row) {
  PairRow result;
  result.row = row;
  result.at = costs.view.locate(row);
  for (const std::int64_t j : costs.view.weighted_keys(result.at)) {
    result.keys.push_back(key_of(costs, row, result.at, j));
  }
  if (result.keys.empty()) return result;
  set_lse(costs, result);
  set_weights(costs, result);
  return result;
}

PairWeights weights_of(const PairCosts& costs, const PairRow& row, const PairKey& key) {
  const BackwardArithmetic& a = costs.a;
  // P̂ = P e^κ e^η + ζ.
  const double subnormal = a.underflow == Underflow::flush ? 0x1p-126 : 0x1p-149;
  const double lowest = (key.x - key.slop - key.h - row.common).count;
  const double zeta = lowest <= -kLogMinNormal + 0x1p-20 ? subnormal : 0;
  const double own = (scaled_expm1((key.x + key.slop + row.common).count, key.h.count) + zeta) * kSlack;
  PairWeights w;
  w.p = std::exp((key.x + key.slop).count);
  w.error = (scaled_expm1((key.x + key.slop).count, (row.common + key.h).count) + zeta) * kSlack;
  w.computed = w.p + w.error;
  // Storage of P, for dv.
  const bool p_normal = std::exp(lowest) - zeta > min_normal(a.p) * (1 + 0x1p-20);
  const double p_lost = p_normal ? 0 : std::min(costs.p_underflow, w.computed);
  w.lost = (times(costs.p_growth, w.computed) + p_lost + costs.flush) * kSlack;
  const double in_ds = a.stored_weights ? w.lost : 0;
  w.ds_own = own + in_ds;
  w.ds_error = w.error + in_ds;
  w.ds_computed = w.computed + in_ds;
  return w;
}

}  // namespace flashproof::bound
