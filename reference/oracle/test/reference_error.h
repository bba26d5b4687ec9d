// How far reference<Real> may be from the exact result, derived here so that the tests have no free tolerance.
//
// u = unit roundoff of Real, n keys, S >= every |score|, T >= Σ of the magnitudes of the terms of one score (for
// softmax and merge a score is an input, hence exact), ops = roundings per score: 2d (dot product, Higham's γ_2d is
// generous) + 2 (scale, bias) + 2 (ALiBi: product, difference) + 2
// (descale factors; that of v multiplies max|v|, and its product is one rounding more). exp and log are within `functions`·u relative.
//   softcap c       the derivative of c·tanh(x/c) is at most 1, so the error of x passes at most unchanged. Of its own:
//                   y = x/c rounds, c·|y|·tanh'(y)·u < c·u/2; t = e^(−2|y|) is within functions·u, and
//                   |d/dt (1−t)/(1+t)| = 2/(1+t)² <= 2; 1−t, 1+t, the quotient and the product round. Together
//                   C = (2·functions + 5)·u·c, and c enters no other term
//   score           ops·u·T + C, called R
//   score − max     2·R + 2·u·S                           absolute, so relative in the weight
//   weight          E = 2·R + 2·u·S + functions·u         relative
//   total           E + n·u                               relative (all terms positive)
//   p               2·E + (n + 1)·u                       relative
//   o               (2·E + (2·n + 2)·u)·max|v|            absolute, since Σ p |v| <= max|v|
//   lse             E + n·u + functions·u·ln n + 3·u·(S + ln n) + R          absolute
// Un-normalised states: value s is O_s / l_s and its weight l_s times as large; the product, the second sum and its division
// are n + 2 roundings more, so n stands for 2n + 2, and ln n for that and F >= |ln l_s| (`log_factor`), the logarithm of L.
// These are first order; all of them are doubled, which covers the second order while they stay below 1/4 (checked).
// The sink is one more key, whose score is an input and whose value is 0.
// For double, weights below 2^-1022 lose up to 2^-1074 each: 2^-1000 times the size of the values covers them.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/problem/problems.h"

namespace flashproof::test {

template <class Real>
struct ReferenceError {
  Real o;
  Real lse;
  bool meaningful;
};

struct Sizes {
  double n = 0.0, ops = 0.0, largest_score = 0.0, terms = 0.0, softcap = 0.0, largest_value = 1.0, log_factor = 0.0;
};

Sizes sizes(const Problem& problem);

/// u as Real, because 2^-997 times a subnormal is below the range of double.
template <class Real>
ReferenceError<Real> reference_error(const Problem& problem, const Real& u, double functions) {
  const Sizes s = sizes(problem);
  const Real log_n = Real(1.0 + std::log(s.n + 1.0) + s.log_factor);
  const Real score = Real(s.ops) * u * Real(s.terms) + Real(2 * functions + 5) * u * Real(s.softcap);
  const Real weight = Real(2) * score + Real(2) * u * Real(s.largest_score) + Real(functions) * u;
  const Real relative = Real(2) * weight + Real(2 * s.n + 2) * u;
  const Real lse = weight + Real(s.n + functions) * u * log_n + Real(3) * u * (Real(s.largest_score) + log_n) + score;
  const Real underflow = Real(0x1p-1000) * Real(s.largest_value);
  return {Real(2) * relative * Real(s.largest_value) + underflow, Real(2) * lse, relative < Real(0.25)};
}

}  // namespace flashproof::test
