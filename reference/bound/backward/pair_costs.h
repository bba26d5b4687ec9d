// What every pair of one problem is computed with: its inputs, the declaration, and what a sum of products in it may cost.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bound/backward/bound.h"
#include "reference/oracle/backward/view.h"

namespace flashproof::bound {

/// What a matrix unit's exponents see of a tensor (accumulation.h), laid out as the view's; empty if no unit is declared.
using AlignedValues = std::vector<double>;

/// One sum of products, exact up to its own evaluation in double.
struct DotSums {
  double value = 0, size = 0;   // Σ ab, Σ |ab|
  double sum = 0, aligned = 0;  // Σ |a| + |b|, and Σ |ab| as a matrix unit's exponents see it
};
DotSums products_of(const double* a, const double* b, std::int64_t n);
/// Σ over n of row a_row of a and row b_row of b.
double aligned_dot(const AlignedValues& a, std::int64_t a_row, const AlignedValues& b, std::int64_t b_row,
                   std::int64_t n);

/// Of a sum of products over a fixed number of terms: the relative and the absolute error.
struct FixedCost {
  double growth = 0, lost = 0;
};

/// Whether a kernel that flushes reads 0 in place of τ (README.md, section 4).
inline bool flushes_scale(const AttentionProblem& f, const BackwardArithmetic& a) {
  return a.underflow == Underflow::flush && std::fabs(f.scale) < 0x1p-126F;
}

/// The arguments must outlive it; `forward` is empty in stage mode.
struct PairCosts {
  PairCosts(const backward::View& view, const BackwardArithmetic& arithmetic, const ForwardErrors& forward);

  bool stage() const { return view.problem.mode == BackwardMode::stage; }
  /// τ where dS carries it, else 1.
  double inside() const;
  /// Upper bound of what evaluating Σ_c dO·v or dO·o here, in double, is off by.
  double slop_of(const DotSums& p) const;
  /// Largest error of a sum of products that the kernel computes.
  double error_of(const FixedCost& cost, const Products& products, const DotSums& p) const;

  const backward::View& view;
  const BackwardArithmetic& a;
  const ForwardErrors& forward;
  AlignedValues q, k, v, d_out, o;
  FixedCost dot, products, row_sum;
  double p_growth, dp_growth;        // relative, of storing P and dP
  double p_underflow, ds_underflow;  // absolute, of storing P and dS where they are subnormal
  double ds_theta;                   // θ of README.md, section 3
  double flush, eta;                 // what a flushed input or result loses, and what a rounded one
  bool scale_lost;                   // τ is subnormal and flushed: what is multiplied by it may be 0
};

}  // namespace flashproof::bound
