// D of a query row, in double, and how far the kernel's D̂ may be off; dP's error, which D of the weights inherits.
//
//   computes     D = Σ_c dO·o, o stored (stage) or Σ_j P v (gradient)
//   error        of o: Σ_c|dO|B_c, and the declared sum's own; of the weights: P̂'s, dP̂'s and the sum's
//   here         in double; `slop` has what D is off by
//   edges        a row without a weighted key: D of the weights is an empty sum
//   source       README.md, sections 3 and 7
#include <algorithm>
#include <cmath>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/backward/pair_row.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {
namespace {

using backward::View;

/// Σ_c dO·o of a row, and what the forward pass's error of o adds to it.
struct OutputSums {
  DotSums row;
  double slop = 0;
  double from_forward = 0;
};

OutputSums of_stored_output(const PairCosts& costs, std::int64_t r) {
  const View& view = costs.view;
  OutputSums sums;
  sums.row = products_of(&view.d_out[r * view.dv], &view.o[r * view.dv], view.dv);
  if (costs.a.row_sum.unit.k > 0) sums.row.aligned = aligned_dot(costs.d_out, r, costs.o, r, view.dv);
  sums.slop = costs.slop_of(sums.row);
  return sums;
}

OutputSums of_exact_output(const PairCosts& costs, const PairRow& row) {
  const View& view = costs.view;
  const double* d_out = &view.d_out[row.row * view.dv];
  const double* given = &costs.forward.o[row.row * view.dv];
  std::vector<double> o(static_cast<std::size_t>(view.dv), 0.0);
  OutputSums sums;
  const double terms = static_cast<double>(row.keys.size()) + static_cast<double>(view.dv) + 8;
  for (const PairKey& key : row.keys) {
    const double p = std::exp(key.x.count);
    for (std::int64_t c = 0; c < view.dv; ++c) o[c] += p * view.v[key.row * view.dv + c];
    const double p_up = std::exp((key.x + key.slop).count);
    sums.slop += (scaled_expm1(key.x.count, key.slop.count) + terms * kD * p_up) * key.dp.size;
  }
  sums.row = products_of(d_out, o.data(), view.dv);
  const double least = min_normal(view.problem.o.format);
  for (std::int64_t c = 0; c < view.dv; ++c) {
    const double stored = std::max(std::fabs(o[c]) + given[c], least);
    if (costs.a.row_sum.unit.k > 0) sums.row.aligned += costs.d_out[row.row * view.dv + c] * stored;
    if (costs.a.delta == DeltaSum::weights) continue;
    sums.from_forward += times(std::fabs(d_out[c]), given[c]);
    sums.row.sum += given[c];
  }
  sums.row.size += sums.slop + sums.from_forward;
  sums.row.aligned += sums.slop;
  return sums;
}

/// Of Σ_j fl(P̂·dP̂): P̂ for P, dP̂ for dP, and the sum's own roundings (README.md, section 7).
double error_of_weights(const PairCosts& costs, const PairRow& row) {
  const BackwardArithmetic& a = costs.a;
  double error = 0, size = 0, touched = 0;
  for (const PairKey& key : row.keys) {
    const PairWeights w = weights_of(costs, row, key);
    const double dp = std::fabs(key.dp.value) + costs.slop_of(key.dp);
    const double dp_error = dp_error_of(costs, key);
    error += times(w.ds_error, dp) + times(w.ds_computed, dp_error);
    size += times(w.ds_computed, dp + dp_error);
    touched += w.ds_computed + dp + dp_error;
  }
  const auto terms = static_cast<std::int64_t>(row.keys.size());
  const SumCost cost = cost_of(a.row_sum, costs.view.sk, terms);
  const double g = growth(cost.log_units + roundings(1));
  const double lost = (cost.operations + static_cast<double>(terms)) * lost_per_operation(a.row_sum, a.underflow);
  return (error + g * size + (lost + costs.flush * (touched + 1)) * (1 + g)) * kSlack;
}

}  // namespace

double dp_error_of(const PairCosts& costs, const PairKey& key) {
  const BackwardArithmetic& a = costs.a;
  const double dot = costs.error_of(costs.products, a.products, key.dp);
  const double computed = std::fabs(key.dp.value) + costs.slop_of(key.dp) + dot;
  const double storage = times(costs.dp_growth, computed) + std::min(storage_underflow(a.dp, a.underflow), computed);
  const double product = a.apart ? kU * (computed + storage) : 0;
  return (dot + storage + product) * kSlack;
}

RowDelta delta_of(const PairCosts& costs, const PairRow& row) {
  const BackwardArithmetic& a = costs.a;
  const OutputSums sums = costs.stage() ? of_stored_output(costs, row.row) : of_exact_output(costs, row);
  RowDelta delta;
  delta.value = sums.row.value;
  delta.slop = sums.slop;
  if (a.delta == DeltaSum::weights) {
    delta.error = error_of_weights(costs, row);
  } else {
    delta.error = (sums.from_forward + costs.error_of(costs.row_sum, a.row_sum, sums.row) + costs.flush) * kSlack;
  }
  if (a.apart) delta.error += kU * (std::fabs(delta.value) + delta.slop + delta.error) * kSlack;  // fl(P̂·D̂)
  delta.reach = sums.row.size + delta.error;
  return delta;
}

}  // namespace flashproof::bound
