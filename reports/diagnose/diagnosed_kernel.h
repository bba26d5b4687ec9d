// Test helper: a "kernel" that computes what a hypothesis says, as exactly as its output holds it.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "reference/oracle/oracle.h"
#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {

inline double rounded_value(const Ball& ball) {
  if ((ball.classes & kFinite) != 0) return ball.hi;
  if ((ball.classes & kNaN) != 0) return std::numeric_limits<double>::quiet_NaN();
  return (ball.classes & kPosInf) != 0 ? std::numeric_limits<double>::infinity()
                                       : -std::numeric_limits<double>::infinity();
}

inline Output output_like(const Problem& problem) {
  Output output;
  for (const Part part : kForwardParts)
    output[part] = poisoned(output_format(problem, part), output_shape(problem, part));
  return output;
}

/// The exact function of a problem, rounded.
inline Output exact_output(const Problem& problem) {
  const Truth truth = compute_truth(problem);
  Output output = output_like(problem);
  for (const Part part : kForwardParts) {
    for (std::size_t i = 0; i < truth[part].size(); ++i) {
      const Format format = output[part].format;
      output[part].set_bits(static_cast<std::int64_t>(i), encode(format, rounded_value(truth[part][i])));
    }
  }
  return output;
}

/// One row by its weights, written down once more: sums of e^x, without a frame but the largest.
inline void write_row(Output& output, const RowTerms& t, const RowWeights& w) {
  Real most = w.extra, top = t.sink;
  for (const Real x : w.denominator) most = std::max(most, x);
  for (const Term& term : t.terms) top = term.visible ? std::max(top, term.score) : top;
  Real sum = w.extra == kNothing ? 0 : std::exp(w.extra - most);
  for (const Real x : w.denominator) sum += x == kNothing ? 0 : std::exp(x - most);
  Real lse = w.lse.value_or(most + std::log(sum));
  if (w.meaning == LseMeaning::base_2) lse /= std::log(Real{2});
  if (w.meaning == LseMeaning::negative) lse = -lse;
  if (w.meaning == LseMeaning::maximum) lse = top;
  output.lse.set_bits(t.row, encode(Format::f32, static_cast<double>(lse)));
  for (std::int64_t c = 0; c < t.width; ++c) {
    Real o = 0;
    const bool softmax = t.kind == ProblemKind::softmax;
    for (std::size_t j = 0; j < t.terms.size(); ++j) {
      if (t.block > 0 && static_cast<std::int64_t>(j) != c / t.block) continue;
      if (softmax && static_cast<std::int64_t>(j) != c) continue;
      const bool as_true = c < w.from_column;
      const Real x = !as_true ? w.numerator[j] : t.terms[j].visible ? t.terms[j].score : kNothing;
      if (x == kNothing) continue;
      const Real value = softmax ? Real{1} : t.value(j, t.block > 0 ? c % t.block : c);
      const Real divided = std::exp(x - most) / sum;
      o += (w.undivided ? std::exp(x - top) : divided) * value;
      if (w.logarithm) o = t.terms[j].score - (most + std::log(sum));
    }
    const std::int64_t at = t.row * t.width + c;
    output.o.set_bits(at, encode(output.o.format, static_cast<double>(o)));
  }
}

/// What a kernel returns for which the hypothesis holds. One about arithmetic has no output of its own: std::logic_error.
inline Output output_of(const Hypothesis& hypothesis, const Problem& problem, const Arithmetic& arithmetic) {
  if (hypothesis.problem) {
    Problem other = problem;
    return exact_output(hypothesis.problem(other) ? other : problem);
  }
  if (!hypothesis.row) throw std::logic_error("no output of its own");
  Output output = exact_output(problem);
  for (std::int64_t row = 0; row < output_shape(problem).rows; ++row) {
    const RowTerms terms = row_terms(problem, arithmetic, row);
    RowWeights weights(terms);
    if (hypothesis.row(terms, weights)) write_row(output, terms, weights);
  }
  return output;
}

/// Another kernel's declaration, and this in place of its code.
inline Kernel kernel_that(std::string_view like, ForeignRun run) {
  Kernel kernel = *find_kernel(like);
  kernel.foreign = std::move(run);
  kernel.launch = {};
  kernel.workspace = nullptr;
  return kernel;
}

}  // namespace flashproof
