// Test helper: arithmetic that errs by as much as it is allowed to, each operation leaning the way that hurts. In long
// double, so that its own rounding is far below the u it adds. An exponential may err by up to 1/8: errors of such a
// size show a wrong term at once; the 2^-23 of real kernels would hide it behind the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/random.h"

namespace flashproof::bound {

using Real = long double;

class Machine {
 public:
  enum class Mode : std::uint8_t { up, down, random, uniform, aimed, against };

  Machine(Random& random, Mode mode, const Arithmetic& arithmetic) : random_(&random), mode_(mode), a_(arithmetic) {}

  const Arithmetic& arithmetic() const { return a_; }
  /// Which way an error of the next operations should point where the mode is aimed (against: the other way).
  void aim(Real sign) { aim_ = sign < 0 ? -1 : 1; }
  Real lean() {
    switch (mode_) {
      case Mode::up:
        return 1;
      case Mode::down:
        return -1;
      case Mode::random:
        return random_->chance(0.5) ? 1 : -1;
      case Mode::uniform:
        return random_->uniform(-1, 1);
      case Mode::aimed:
        return aim_;
      case Mode::against:
        break;
    }
    return -aim_;
  }

  /// A sum errs by u of itself, and by no more than either operand (they are numbers of the format, near the sum).
  Real add(Real a, Real b) {
    const Real sum = a + b;
    if (a == 0 || b == 0 || sum == 0 || std::isinf(sum)) return flushed(sum);
    return flushed(sum + lean() * std::min({kUnit * std::fabs(sum), std::fabs(a), std::fabs(b)}));
  }
  Real sub(Real a, Real b) { return add(a, -b); }
  Real mul(Real a, Real b) { return a == 1 || b == 1 || a == 0 || b == 0 ? flushed(a * b) : rounded(a * b); }
  Real div(Real a, Real b) { return b == 1 || a == 0 ? flushed(a / b) : rounded(a / b); }
  Real fma(Real a, Real b, Real c) { return c == 0 ? mul(a, b) : rounded(a * b + c); }
  Real reciprocal(Real x) {
    if (x == 1) return 1;
    return a_.reciprocal_error == 0 ? rounded(1 / x)
                                    : subnormal(1 / x, (1 + lean() * static_cast<Real>(a_.reciprocal_error)) / x);
  }
  Real log(Real x) {
    if (x == 1) return 0;
    return std::log(x) * (1 + lean() * static_cast<Real>(a_.log_error)) + lean() * static_cast<Real>(a_.log_absolute);
  }
  /// What lse is rounded to between joins.
  Real to_lse(Real x) {
    if (a_.lse_format == Format::f32) return x;
    return x + lean() * static_cast<Real>(unit_roundoff(a_.lse_format)) * std::fabs(x);
  }

  /// E(x − f) as the declaration has it.
  Real exponential(Real x, Real f) {
    if (x == -INFINITY) return 0;
    switch (a_.exponent) {
      case Exponent::accurate:
        return exp_of(sub(x, f));
      case Exponent::scaled_exp2:
      case Exponent::subtract_then_scale:
        return exp_of(mul(sub(x, f), kScale) / kLog2e);
      case Exponent::fused: {
        const Real frame = product(f);
        return exp_of((frame == 0 ? mul(x, kScale) : rounded(x * kScale - frame)) / kLog2e);
      }
      case Exponent::unfused:
        break;
    }
    return x == f ? 1 : exp_of(sub(product(x), product(f)) / kLog2e);
  }
  /// Rescales of fused forms subtract first.
  Real rescale(Real from, Real to) {
    return a_.exponent == Exponent::accurate ? exp_of(sub(from, to)) : exp_of(mul(sub(from, to), kScale) / kLog2e);
  }
  /// E(x) without a frame.
  Real unshifted(Real x) { return exp_of(a_.exponent == Exponent::accurate ? x : mul(x, kScale) / kLog2e); }

 private:
  static constexpr Real kUnit = 0x1p-24L;
  static constexpr Real kMinNormal = 0x1p-126L;
  static constexpr Real kLog2e = 1.442695040888963407359924681001892137L;
  static constexpr Real kScale = 0x1.715476p+0L;  // fl(log2 e)

  /// x·ĉ: the same product has the same error, however often it is formed.
  Real product(Real x) {
    const auto [at, fresh] = products_.try_emplace(x, 0);
    if (fresh) at->second = mul(x, kScale);
    return at->second;
  }
  Real flushed(Real x) const { return a_.underflow == Underflow::flush && std::fabs(x) < kMinNormal ? 0 : x; }
  Real subnormal(Real exact, Real rounded_value) {
    if (std::fabs(exact) >= kMinNormal) return rounded_value;
    return a_.underflow == Underflow::flush ? 0 : exact + lean() * std::min(0x1p-150L, std::fabs(exact));
  }
  Real rounded(Real x) { return subnormal(x, x * (1 + lean() * kUnit)); }
  /// 1 at 0, never above 1 below it, as arithmetic.h demands.
  Real exp_of(Real x) {
    if (x == 0) return 1;
    const Real y = std::exp(x);
    if (y < kMinNormal) {
      return std::max(Real{0}, y + lean() * static_cast<Real>(exp_underflow(a_)));
    }
    const Real got = y * (1 + lean() * static_cast<Real>(a_.exp_error));
    return x < 0 ? std::min(got, Real{1}) : got;
  }

  Random* random_;
  Mode mode_;
  Arithmetic a_;
  Real aim_ = 1;
  std::map<Real, Real> products_;
};

/// NaN is the worst and stays. `noise`: the emulation's own rounding.
struct WorstRatio {
  double ratio = 0;
  void take(Real error, double bound, Real noise) {
    const double here = error <= noise ? 0 : static_cast<double>(error - noise) / bound;
    ratio = std::isnan(ratio) || here <= ratio ? ratio : here;
  }
};

/// What an attack on softmax or merges reached of a bound.
struct AttackWorst {
  WorstRatio o, lse;
  WorstRatio likely;              // of `probable`: o and lse
  std::int64_t elements = 0;      // in it
  std::int64_t broken_forms = 0;  // rows that are not judged because the form itself breaks there
  // o alone, of at least 8 keys or states, not vacuous, of softmax above 2^-100: what a clamp or a trivial case cannot reach
  WorstRatio reached;
  double largest() const { return std::isnan(o.ratio) || o.ratio > lse.ratio ? o.ratio : lse.ratio; }
};

constexpr Arithmetic with(Arithmetic a, Underflow underflow) {
  a.underflow = underflow;
  return a;
}
constexpr Arithmetic erring(Arithmetic a, double exp_error, double log_error) {
  a.exp_error = exp_error;
  a.log_error = log_error;
  return a;
}

}  // namespace flashproof::bound
