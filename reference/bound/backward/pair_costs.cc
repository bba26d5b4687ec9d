// Sums of products of one pair: their exact value here in double, and the largest error of the kernel's.
//
//   computes     Σ ab, Σ |ab|, Σ |a| + |b| over the head dimension
//   error        |computed − Σ ab| ≤ G·Σ|ab| + (L + flush·(Σ|a| + |b|))(1 + G), G and L of the declared sum (accumulation.h); of a
//                matrix unit Σ|ab| over aligned factors
//   here         sums in double; sizes are rounded up by kSlack, values are not: slop_of() has what they are off by
//   source       README.md, sections 2 and 4
#include "reference/bound/backward/pair_costs.h"

#include <cmath>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/backward/pair_row.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {
namespace {

AlignedValues aligned_values(const std::vector<double>& values, Format format) {
  AlignedValues result;
  result.reserve(values.size());
  for (const double x : values) result.push_back(aligned(std::fabs(x), format));
  return result;
}

FixedCost fixed_cost(const BackwardArithmetic& a, const Products& products, std::int64_t n) {
  const SumCost cost = cost_of(products, n, n);
  return {growth(cost.log_units), cost.operations * lost_per_operation(products, a.underflow)};
}

bool uses_unit(const BackwardArithmetic& a) {
  for (const Products* products : {&a.dot, &a.products, &a.row_sum, &a.dq.products, &a.dk.products, &a.dv.products}) {
    if (products->unit.k > 0) return true;
  }
  return false;
}

}  // namespace

DotSums products_of(const double* a, const double* b, std::int64_t n) {
  DotSums p;
  for (std::int64_t c = 0; c < n; ++c) {
    const double product = a[c] * b[c];
    p.value += product;
    p.size += std::fabs(product);
    p.sum += std::fabs(a[c]) + std::fabs(b[c]);
  }
  p.size *= kSlack;
  p.sum *= kSlack;
  return p;
}

double aligned_dot(const AlignedValues& a, std::int64_t a_row, const AlignedValues& b, std::int64_t b_row,
                   std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += a[a_row * n + c] * b[b_row * n + c];
  return sum * kSlack;
}

PairCosts::PairCosts(const backward::View& inputs, const BackwardArithmetic& arithmetic, const ForwardErrors& errors)
    : view(inputs),
      a(arithmetic),
      forward(errors),
      dot(fixed_cost(a, a.dot, view.d)),
      products(fixed_cost(a, a.products, view.dv)),
      row_sum(fixed_cost(a, a.row_sum, view.dv)),
      p_growth(growth(storage_units(a.p))),
      dp_growth(growth(storage_units(a.dp))),
      p_underflow(storage_underflow(a.p, a.underflow)),
      ds_underflow(storage_underflow(a.ds, a.underflow)),
      ds_theta(growth(roundings(a.scale == GradientScale::weights ? 3 : 2) + storage_units(a.ds))),
      flush(a.underflow == Underflow::flush ? 0x1p-126 : 0),
      eta(a.underflow == Underflow::flush ? 0x1p-126 : 0x1p-150),
      scale_lost(flushes_scale(view.problem.forward, a)) {
  if (!uses_unit(a)) return;
  const BackwardProblem& p = view.problem;
  q = aligned_values(view.q, p.forward.q.format);
  k = aligned_values(view.k, p.forward.k.format);
  v = aligned_values(view.v, p.forward.v.format);
  d_out = aligned_values(view.d_out, p.d_out.format);
  o = aligned_values(view.o, p.o.format);
}

double PairCosts::inside() const { return a.scale == GradientScale::weights ? std::fabs(view.scale) : 1; }

double PairCosts::slop_of(const DotSums& p) const { return static_cast<double>(view.dv + 4) * kD * p.size; }

double PairCosts::error_of(const FixedCost& cost, const Products& sum, const DotSums& p) const {
  const double size = sum.unit.k > 0 ? p.aligned : p.size;
  return (cost.growth * size + (cost.lost + flush * p.sum) * (1 + cost.growth)) * kSlack;
}

}  // namespace flashproof::bound
