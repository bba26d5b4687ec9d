// What one exponential, one reciprocal and one set of independent roundings cost: the terms that softmax and merges
// share. Derivations: softmax/README.md, "Exponents"; README.md, "Probable".
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic.h"
#include "reference/bound/row/row_model.h"
#include "reference/bound/score_units.h"

namespace flashproof::bound {

/// ln of the largest f32: e^x beyond it is infinite.
inline constexpr double kLogF32Max = 88.722839;

inline constexpr double kLog2eError = 0x1.dp-27;  // |fl(log2 e) / log2 e − 1| = 1.335e-8
inline constexpr double kOneRounding = ((1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-40);
/// A subnormal product or difference: 2^-150, or flushed with its operands 3·2^-126. Far below what 2^-50 of anything
/// pays for, but an argument may be as small.
inline constexpr double kTinyArgument = 0x1p-120;

/// Whether the form has a product f·ĉ of its own: then E(f − f) is 1 only nearly (fused).
inline bool rounds_frame(const Arithmetic& a) {
  return a.exponent == Exponent::fused || a.exponent == Exponent::unfused;
}

/// Of fl(f·ĉ), where the exponent has it (fused, unfused). 0 elsewhere.
inline Nats frame_cost(const Arithmetic& a, Nats frame) {
  return {rounds_frame(a) ? kOneRounding * std::fabs(frame.count) * kSlack + kTinyArgument : 0};
}

/// Error of the argument of E(x − f), |x − f| <= gap, without what it has from rounding f·ĉ: that part is
/// frame_cost(f), the same for every x beside one f. The exponential's own error is exponential_cost().
struct ArgumentCosts {
  double gap = 0, size = 0, rest = 0;  // per |x − f|, per |x|, and of every argument

  ArgumentCosts(const Arithmetic& a, Nats frame) {
    if (!rounds_frame(a)) {
      gap = (exponent_slope(a) + 0x1p-50) * kSlack;
      rest = a.underflow == Underflow::flush ? kTinyArgument : 0;
      return;
    }
    // fma(x, ĉ, −F), F = fl(f·ĉ): one rounding, of a number that has F's error in it. Unfused, fl(x·ĉ) errs too.
    gap = (kOneRounding + 0x1p-50) * kSlack;
    size = a.exponent == Exponent::unfused ? kOneRounding * (1 + kU) * (1 + kU) * kSlack : 0;
    rest = kU * frame_cost(a, frame).count * kSlack + kTinyArgument;
  }
  Nats of(Nats below, Nats x) const {
    // x may be an inf that is not used
    return {gap * below.count + (size == 0 ? 0 : size * std::fabs(x.count)) + rest};
  }
};
inline Nats argument_cost(const Arithmetic& arithmetic, Nats gap, Nats x, Nats frame) {
  return ArgumentCosts(arithmetic, frame).of(gap, x);
}

/// Of E(x) where nothing is subtracted: the argument is exact, or its product with log2 e rounds.
inline Nats unshifted_cost(const Arithmetic& a, Nats x) {
  return {a.exponent == Exponent::accurate ? 0 : kOneRounding * std::fabs(x.count) * kSlack + kTinyArgument};
}

/// The part of argument_cost(gap) or unshifted_cost(gap) that is the error of the constant fl(log2 e) itself: one number
/// for all exponentials of a kernel, so neither independent nor centred (softmax/README.md, "Exponents").
inline Nats constant_cost(const Arithmetic& a, Nats gap) {
  return {a.exponent == Exponent::accurate ? 0 : kLog2eError * std::fabs(gap.count) * kSlack};
}

/// Which share of `cost`, an exponential's whole, that part is at most: 0..1.
double constant_share(Nats constant, Nats cost);
/// −ln(1 − ε).
Nats exponential_cost(const Arithmetic& arithmetic);
/// Of ln x, |ln x| <= size. A size of which nothing is known is infinite: 0·inf would be no bound.
inline double logarithm_cost(double log_error, double log_absolute, double size) {
  return (log_error > 0 ? log_error * size : 0) + log_absolute;
}
/// Precondition of that product: on either side of 2^±126 a whole row overflows or vanishes.
Precondition head_room(const Arithmetic& arithmetic, Nats frame, double terms);

/// Log units of 1/x, x <= largest, where the ending multiplies by it: beyond 2^126 the reciprocal is subnormal.
double reciprocal_cost(const Arithmetic& arithmetic, double largest = 1);
/// Log units of a factor E(−x), x <= log: what it loses where it is subnormal, relative to itself.
Nats factor_underflow_cost(const Arithmetic& arithmetic, Nats log);
/// Largest absolute error that operations with subnormal results leave: `products` (quotients, fma) always, `sums` only
/// where they are flushed.
double underflow_of(const Arithmetic& arithmetic, double products, double sums);

/// What `n` relative roundings may still make of such an error: 2^-10 more covers 16,368 of them, and an exponential or two.
inline double later(double n) { return std::max(1 + 0x1p-10, 1 + growth(roundings(n))); }

/// fl(larger + term), larger and the result in f32: a sum beside a number of the format errs by no more than the term.
double sum_cost(double sum, double term);

/// Sum of squares of roundings that behave as independent and centred. A group whose sizes sum up to `sum`, none above
/// `largest`, has at most largest·sum. Absolute errors (underflow) may all have one sign: they are certain.
class Chance {
 public:
  void add(double largest, double sum) {
    if (sum > 0 && largest > 0) square_ += (largest < sum ? largest : sum) * sum;
  }
  void certain(double error) { certain_ += error; }
  /// What is exceeded with probability below 2 e^{−λ²/2}, and never more than `total`.
  double probable(double total) const {
    const double likely = (kLambda * std::sqrt(square_) + certain_) * kSlack;
    return likely < total ? likely : total;
  }

 private:
  double square_ = 0;
  double certain_ = 0;
};

}  // namespace flashproof::bound
