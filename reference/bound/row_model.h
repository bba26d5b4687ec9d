// One row of any of the three problems as the theorem of README.md sees it: leaves (the visible keys, or the states)
// with exact scores, and on each leaf-to-root path the number of rounded operations.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/arithmetic.h"

namespace flashproof::bound {

inline constexpr double kU = 0x1p-24;          // unit roundoff of f32
inline constexpr double kEtaRound = 0x1p-150;  // largest rounding error of a subnormal f32 result
inline constexpr double kF32Max = 0x1.fffffep127;

/// Inflates what is evaluated in double here: more than the rounding of any of its sums, for up to 2^20 leaves.
inline constexpr double kSlack = 1 + 0x1p-30;

struct Leaf {
  std::int64_t key = 0;    // index of the key or state
  double score = 0;        // s_j, a double next to the exact value
  double score_error = 0;  // D_j: |computed score − s_j|, the error of `score` itself included
  int exps = 0;            // exponentials with a non-zero argument on the path
  int shared = 0;          // roundings that numerator and denominator see alike
  int numerator = 0;       // roundings of the numerator only
  int denominator = 0;     // roundings of the denominator only
};

struct RowModel {
  std::vector<Leaf> leaves;
  double exponent_slope = kU;        // error of the exponents of one path per unit of m̂ − ŝ_j
  double exp_error = 0;              // relative, per exponential
  double numerator_underflow = 0;    // absolute: one kEtaRound per product of the numerator, beside a denominator >= 1
  double denominator_underflow = 0;  // absolute, beside a denominator >= 1
};

/// p (e^x − 1) for p = e^{log_p}, x >= 0; by exponents where x is large, so that a vanishing weight stays vanishing.
double scaled_expm1(double log_p, double x);

/// (1 + u)^n − 1, rounded up.
double growth(int n);

/// ⌈log2 n⌉, n >= 1.
int log2_ceil(int n);

/// The perturbed weights of one row: Σ over the leaves of p_j (1 + ω_j) with |p_j ω_j| <= q_j, README.md section 2.
struct RowWeights {
  std::vector<double> p;     // exact weights e^{s_j − m} / L, evaluated in double
  std::vector<double> q;     // bound on the absolute error of each, in the same units
  std::vector<double> slop;  // bound on the error of evaluating p itself
  double low = 1;            // lower bound of Σ p_j (1 + ω_j)
  double up = 1;             // upper bound of it
  double lse = 0;            // m + ln L
  double lse_weights = 0;    // bound of |ln Σ p_j (1 + ω_j)|, the frame's own score error included
  double log_sum = 0;        // upper bound of ln of the computed denominator
  double denominator = 0;    // Ḡ: relative error of the denominator beyond its weights; +inf if not below 1

  /// Upper bound of Σ ŵ_j x_j / Σ ŵ_j for x_j >= 0: Σ (p_j + q_j) x_j / low, or max x_j where that is smaller.
  template <class X>
  double average(X&& x) const;
};

RowWeights perturbed_weights(const RowModel& row);

template <class X>
double RowWeights::average(X&& x) const {
  double sum = 0;
  double largest = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double value = x(j);
    sum += value == 0 ? 0 : (p[j] + q[j]) * value;
    largest = value > largest ? value : largest;
  }
  const double closed = sum / low * kSlack;
  return closed < largest ? closed : largest;
}

}  // namespace flashproof::bound
