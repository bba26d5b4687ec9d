// Test helpers: declarations of backward kernels, one attack, and what it used up of the bound.
#pragma once

#include <string>
#include <vector>

#include "reference/bound/backward/bound.h"
#include "reference/model/backward_model.h"
#include "reference/oracle/truth.h"
#include "reference/problem/random.h"

namespace flashproof::test {

struct NamedBackward {
  std::string name;
  BackwardArithmetic arithmetic;
};
/// Plain fma kernels of every exponent form, FlashAttention-2's f16 and bf16 on matrix units, split and flushed ones.
/// `format` is that of q: a matrix unit needs 16 bits.
std::vector<NamedBackward> declared_backward(Format format);

/// Any lean, aimed at any column of any output.
BackwardRoundings any_roundings(Random& random);
/// False of a declaration that has no meaning for this problem.
bool takes(const BackwardArithmetic& arithmetic, const BackwardProblem& problem);

/// Errors of o and lse as fill_forward() rounds them, for the gradient; none for the stage. `as`: the format of o that
/// the declaration claims, which may be a lie.
ForwardErrors rounding_errors(const BackwardProblem& problem, Format as);

/// By output: elements judged, out of domain, violations; apart from them the numbers beyond their bound outside
/// the domain, where the model loses a key as a kernel without guards does; the largest error / bound, and for each term the
/// largest one where the term is at least 80 % of the bound.
struct Attack {
  struct Output {
    std::int64_t elements = 0, outside_domain = 0, violations = 0, lost_outside = 0;
    double worst = 0;
    double by_term[4] = {};  // weights, numerator, denominator, output
    void operator+=(const Output& other);
  };
  Output dq, dk, dv;

  void operator+=(const Attack& other);
  /// Of all outputs, and what is lost outside the domain too.
  std::int64_t violations() const {
    std::int64_t all = 0;
    for (const Output* out : {&dq, &dk, &dv}) all += out->violations + out->lost_outside;
    return all;
  }
  std::string text() const;
};

/// Runs `executed`, judges it by `bound` against `truth`, which are those of the problem.
Attack attack(const BackwardProblem& problem, const Truth& truth, const Bound& bound,
              const BackwardArithmetic& executed, const BackwardRoundings& roundings);
/// By the bound of `declared`.
Attack attack(const BackwardProblem& problem, const BackwardArithmetic& executed, const BackwardArithmetic& declared,
              const ForwardErrors& forward, const BackwardRoundings& roundings);

}  // namespace flashproof::test
