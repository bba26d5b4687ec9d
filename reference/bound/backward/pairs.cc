// The pairs of a query row: dS = [τ] P (dP − D) in double, what the declared arithmetic may do to P and dS, and the
// preconditions under which that holds.
//
//   computes     t = dP − D;  dS = [τ] P t
//   error        S̃ − P t = weights + denominator + numerator (README.md, section 3)
//   edges        a pair whose lse or score is infinite adds nothing, as long as its numbers are numbers (section 5); under D
//                of the weights a P or dP that is no number takes all pairs of the row out of the domain (section 7)
//   source       README.md, sections 3, 5 and 7
#include "reference/bound/backward/pairs.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/backward/pair_row.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {
namespace {

constexpr const char* kScores = "scores and their partial sums below the f32 range";
constexpr const char* kFolded = "folded scale below the f32 range";
constexpr const char* kWeights = "P below the range of its format";
constexpr const char* kProducts = "dO·v and dO·o below the f32 range";
constexpr const char* kStoredProducts = "dP below the range of its format";
constexpr const char* kApart = "P·dP and P·D below the f32 range";
constexpr const char* kDs = "dS below the range of its format";

/// Of t = dP − D as evaluated here.
double slop_of(const PairCosts& costs, const RowDelta& delta, const PairKey& key) {
  return costs.slop_of(key.dp) + delta.slop + kD * std::fabs(key.dp.value - delta.value);
}

/// x̂ and what multiplies it are numbers.
void require_score(const PairCosts& costs, const PairKey& key, RowDomain& domain) {
  domain.require({kScores, key.reach, kF32Max});
  if (costs.a.unit == ScoreUnit::raw) {  // fl(τ·fl(log2 e)): infinite, it makes ±inf of every score
    domain.require({kFolded, std::fabs(costs.view.scale) * 1.4427, kF32Max});
  }
}

/// dP, D and their difference are numbers.
void require_products(const PairCosts& costs, const RowDelta& delta, const PairKey& key, RowDomain& domain) {
  const Format format = costs.a.dp;
  const double dp_error = dp_error_of(costs, key);
  const double t_size = std::fabs(key.dp.value - delta.value) + slop_of(costs, delta, key);
  if (format != Format::f32) {
    domain.require({kStoredProducts, (std::fabs(key.dp.value) + dp_error) * (1 + 0x1p-10), info(format).max_finite});
  }
  domain.require({kProducts, std::max(key.dp.size + dp_error, delta.reach) * (1 + 0x1p-10), kF32Max});
  domain.require({kProducts, t_size + dp_error + delta.error, kF32Max});
}

/// Preconditions of a pair whose terms are known. `p_computed` and `dp_error` bound P as it makes dS and the error of dP.
void require_domains(const PairCosts& costs, const RowDelta& delta, const PairKey& key, double p_computed,
                     double dp_error, double t_size, PairTerms& out) {
  const BackwardArithmetic& a = costs.a;
  require_score(costs, key, out.inputs);
  out.inputs.require({kWeights, out.p_size, info(a.p).max_finite});
  out.inputs.require({kWeights, p_computed, kF32Max});
  require_products(costs, delta, key, out.inputs);
  out.domain = out.inputs;
  if (a.apart) {  // each product by itself: where dP is near D, their difference says nothing of their size
    const double dp_size = std::fabs(key.dp.value) + costs.slop_of(key.dp) + dp_error;
    const double delta_size = std::fabs(delta.value) + delta.slop + delta.error;
    out.domain.require({kApart, times(p_computed, std::max(dp_size, delta_size)) * kSlack, kF32Max});
  }
  out.domain.require({kDs, out.ds_size, info(a.ds).max_finite});
  const double rho = 1 + costs.ds_theta;
  out.domain.require({kDs, times(p_computed, t_size + dp_error + delta.error) * rho, kF32Max});  // before τ
}

PairTerms pair_terms(const PairCosts& costs, const PairRow& row, const RowDelta& delta, const PairKey& key) {
  const BackwardArithmetic& a = costs.a;
  PairTerms out;
  out.key_row = key.row;
  const PairWeights w = weights_of(costs, row, key);
  out.p = std::exp(key.x.count);
  out.p_slop = scaled_expm1(key.x.count, key.slop.count) * kSlack;
  out.p_weights = w.error;
  out.p_numerator = w.lost;
  out.p_size = (w.computed + out.p_numerator) * kSlack;
  const double p_computed = w.ds_computed;

  // t = dP − D.
  const double dp_error = dp_error_of(costs, key);
  const double t = key.dp.value - delta.value;
  const double t_slop = slop_of(costs, delta, key);
  const double t_size = std::fabs(t) + t_slop;
  const double inside = costs.inside();
  const bool scaled = a.scale == GradientScale::weights;

  // S̃ = inside · P̂ (t + e_P − e_D)(1 + θ) + z.
  const double theta = costs.ds_theta;
  const double rho = 1 + theta;
  out.ds = (scaled ? costs.view.scale : 1) * out.p * t;
  out.ds_slop = (inside * (times(out.p_slop, t_size) + times(w.p, t_slop)) + 2 * kD * std::fabs(out.ds)) * kSlack;
  out.ds_own = inside * times(w.ds_own, t_size) * kSlack;
  out.ds_weights = inside * times(w.ds_error, t_size) * kSlack;
  out.ds_delta = inside * times(p_computed, rho * delta.error) * kSlack;
  out.ds_delta_rest = inside * times(w.ds_error + p_computed * theta, delta.error) * kSlack;
  double numerator =
      inside * (times(p_computed, rho * (dp_error + 2 * costs.flush)) + times(p_computed, theta * t_size));
  if (a.apart)
    numerator += inside * 2 * (costs.eta + costs.flush * (2 + p_computed)) * rho;  // two products in place of one
  numerator += (inside * costs.eta + (scaled ? costs.eta + costs.flush * (1 + inside) : 0) +
                costs.flush * inside * (1 + t_size)) *
               rho;
  const double exact = std::fabs(out.ds) + out.ds_slop;
  if (scaled && costs.scale_lost) numerator += exact;
  const double size = exact + out.ds_weights + out.ds_delta + numerator;
  const double lowest = std::fabs(out.ds) * (1 - 0x1p-20) - (size - exact) - out.ds_slop;
  if (!(lowest > min_normal(a.ds))) numerator += std::min(costs.ds_underflow, size);
  out.ds_numerator = numerator * kSlack;
  out.ds_size = (exact + out.ds_weights + out.ds_delta + out.ds_numerator) * kSlack;
  out.p_aligned = aligned(out.p_size, a.p);
  out.ds_aligned = aligned(out.ds_size, a.ds);

  require_domains(costs, delta, key, p_computed, dp_error, t_size, out);
  return out;
}

/// P = e^{s − lse} is 0 where lse = +inf, and stays it as long as s and dP − D are numbers; a key whose score is −inf is
/// left out, as long as the finite products beside the infinite one are numbers. D of the weights reads its dP all the same.
Weightless weightless(const PairCosts& costs, const PairRow& row, const RowDelta& delta, std::int64_t j) {
  const PairKey key = key_of(costs, row.row, row.at, j);
  Weightless result{.key_row = key.row, .domain = {}};
  require_score(costs, key, result.domain);
  const bool multiplied = costs.stage() ? costs.view.has_score(row.at, j) : costs.a.delta == DeltaSum::weights;
  if (multiplied) require_products(costs, delta, key, result.domain);
  return result;
}

/// D of the weights is a sum of every P̂·dP̂ of the row, those beside a weight of 0 too, and all dS of the row read it: a P̂
/// or dP̂ that is no number makes them all none.
void share_inputs(RowTerms& row) {
  RowDomain all;
  for (const PairTerms& pair : row.pairs) all.require(pair.inputs.nearest);
  for (const Weightless& pair : row.weightless) all.require(pair.domain.nearest);
  for (PairTerms& pair : row.pairs) pair.domain.require(all.nearest);
  for (Weightless& pair : row.weightless) pair.domain.require(all.nearest);
}

}  // namespace

RowTerms RowSource::terms(std::int64_t query_row) const {
  const PairRow row = pair_row(costs_, query_row);
  const bool empty = row.keys.empty();
  const RowDelta delta = empty && !costs_.stage() ? RowDelta{} : delta_of(costs_, row);
  RowTerms result;
  for (const std::int64_t j : costs_.view.weightless_keys(row.at)) {
    result.weightless.push_back(weightless(costs_, row, delta, j));
  }
  if (empty) return result;
  result.common = growth(row.common.count);
  result.delta = costs_.inside() * delta.error;
  for (const PairKey& key : row.keys) result.pairs.push_back(pair_terms(costs_, row, delta, key));
  if (costs_.a.delta == DeltaSum::weights) share_inputs(result);
  return result;
}

}  // namespace flashproof::bound
