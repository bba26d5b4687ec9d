// Scores and weights of a query row: x = s − λ of every key in double, and what the declared arithmetic makes of P = e^x.
//
//   computes     s = τ q·k + bias − slope·distance;  λ = lse, stored or m + ln Σ e^(s − m);  x = s − λ
//   error        |P̂ − P| ≤ P (e^(κ + η) − 1) + ζ: κ of the row, η of the key, ζ of a subnormal result
//   here         in double; slops have what s, λ and x are off by
//   edges        only keys with a weight get x and h; lse = ±inf, scores that are none and hidden keys are the view's to tell
//   source       README.md, sections 1, 4 and 7
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/backward/pair_row.h"
#include "reference/bound/row_model.h"

namespace flashproof::bound {
namespace {

using backward::View;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLog2eError = 1.36e-8;  // |fl(log2 e) − log2 e| / log2 e = 1.335e-8
constexpr double kLog2E = 1.4427;        // from above

/// λ: stored (stage), or m + ln Σ e^(s − m).
void set_lse(const PairCosts& costs, PairRow& row) {
  if (costs.stage()) {
    row.lse = costs.view.lse[row.row];
    return;
  }
  double top = -kInf;
  double slop = 0;
  for (const PairKey& key : row.keys) top = std::max(top, key.score);
  double sum = 0;
  for (const PairKey& key : row.keys) {
    sum += std::exp(key.score - top);
    slop = std::max(slop, key.score_slop);
  }
  row.lse = top + std::log(sum);
  row.lse_slop = slop + static_cast<double>(row.keys.size() + 16) * 2 * kD + 2 * kD * std::fabs(row.lse);
  row.given = costs.forward.lse[row.row];
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
double exponent_rounding(const PairCosts& costs, double size, double below, double reach) {
  switch (costs.a.exponent) {
    case Exponent::accurate:
      return kU * below;
    case Exponent::scaled_exp2:
      return ((1 + kU) * (1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-20) * below;
    case Exponent::fused:
    case Exponent::unfused: {
      // ĉ; then the product's own rounding, unless it is fused.
      const double constant = constant_error(costs);
      const double product = (costs.a.exponent == Exponent::unfused ? kU * (1 + constant) : 0) + constant;
      const double error = product * size + kFold * reach;
      return product * size + kU * (below + error);
    }
    case Exponent::subtract_then_scale:
      break;  // refused before
  }
  return kInf;
}

/// x, slop and h of every key, κ of the row (README.md, section 1).
void set_weights(const PairCosts& costs, PairRow& row) {
  const BackwardArithmetic& a = costs.a;
  const double unit = a.exponent == Exponent::accurate ? 1 : kLog2E;
  const double reach = std::fabs(row.lse) + row.given + row.lse_slop;
  row.common = row.given;
  const bool folded = a.exponent == Exponent::fused || a.exponent == Exponent::unfused;
  if (folded) row.common += kFold * reach + costs.eta;
  row.common += costs.flush;  // of a subnormal lse
  for (PairKey& key : row.keys) {
    key.x = key.score - row.lse;
    key.slop = key.score_slop + row.lse_slop + kD * std::fabs(key.x) + 4 * kD;
    const double below = std::fabs(key.x) + key.slop + key.score_error + row.given;
    const double size = std::fabs(key.score) + key.score_error;
    const double rounding = exponent_rounding(costs, size, below, reach);
    key.h = (key.score_error + rounding + 3 * (costs.eta + costs.flush) - std::log1p(-a.exp_error)) * kSlack;
    key.reach = std::max(key.reach, reach * unit);
  }
  row.common *= kSlack;
}

}  // namespace

PairKey key_of(const PairCosts& costs, std::int64_t row, const View::Row& at, std::int64_t j) {
  const View& view = costs.view;
  const BackwardArithmetic& a = costs.a;
  const AttentionProblem& f = view.problem.forward;
  const double scale = std::fabs(view.scale);
  PairKey key;
  key.row = view.key_row(at, j);
  DotSums t = products_of(&view.q[row * view.d], &view.k[key.row * view.d], view.d);
  if (a.dot.unit.k > 0) t.aligned = aligned_dot(costs.q, row, costs.k, key.row, view.d);
  const double dot_error = costs.error_of(costs.dot, a.dot, t);
  const double scaled = view.scale * t.value;
  const double bias = view.bias(at, j);
  const double alibi = view.slope(at) * static_cast<double>(view.distance(at, j));
  key.score = scaled + bias + alibi;
  key.score_slop = scale * static_cast<double>(view.d + 4) * kD * t.size +
                   2 * kD * (std::fabs(scaled) + std::fabs(bias) + std::fabs(alibi));
  double error = scale * dot_error + key.score_slop;
  key.reach = t.size + dot_error;
  if (a.factors_scaled) {  // fl(q r)·fl(k r), r = fl(√|τ|): four roundings of each product, and what underflows of a factor
    const double root = std::sqrt(scale) * kSlack;
    error += growth(roundings(4)) * scale * (t.size + dot_error) +
             (costs.eta + costs.flush) * (2 + t.sum) * (root + 1) * kSlack;
    key.reach = std::max(key.reach, std::max(root * t.sum, scale * t.size) * kSlack);
  }
  if (a.unit == ScoreUnit::natural) {  // fl(τ t̂), + bias, + fl(slope · distance)
    error += kU * (std::fabs(scaled) + error) + costs.eta + costs.flush * scale;
    if (costs.scale_lost) error += scale * (t.size + dot_error);
    key.reach = std::max(key.reach, std::fabs(scaled) + error);
    if (f.has_bias()) {
      error += kU * (std::fabs(scaled + bias) + error) + 2 * costs.flush;
      key.reach = std::max(key.reach, std::fabs(scaled + bias) + error);  // ALiBi may bring it back
    }
    if (f.has_alibi()) {
      key.reach = std::max(key.reach, std::fabs(alibi) * (1 + 2 * kU));
      // A flushed slope is lost times the distance.
      error +=
          2 * kU * std::fabs(alibi) * (1 + kU) + costs.eta + costs.flush * static_cast<double>(view.distance(at, j));
      error += kU * (std::fabs(key.score) + error) + 2 * costs.flush;
    }
  }
  key.score_error = error * kSlack;
  const double size = std::fabs(key.score) + key.score_error;
  key.reach = std::max(key.reach, size * (a.exponent == Exponent::accurate ? 1 : kLog2E));
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
  const double lowest = key.x - key.slop - key.h - row.common;
  const double zeta = lowest <= -kLogMinNormal + 0x1p-20 ? subnormal : 0;
  const double own = (scaled_expm1(key.x + key.slop + row.common, key.h) + zeta) * kSlack;
  PairWeights w;
  w.p = std::exp(key.x + key.slop);
  w.error = (scaled_expm1(key.x + key.slop, row.common + key.h) + zeta) * kSlack;
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
