#include "reports/attack/measure.h"

#include <algorithm>
#include <cmath>

#include "kernels/run.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

constexpr std::array<std::string_view, kTerms> kNames = {"o.weights",   "o.numerator",     "o.denominator", "o.output",
                                                         "lse.weights", "lse.denominator", "lse.output"};

bool speaks(const Element& e) {
  const double total = e.bound.total();
  return (e.truth.classes & kFinite) != 0 && class_of(e.computed) == kFinite && class_of(e.truth.radius) == kFinite &&
         e.domain.holds() && total > 0 && total < e.range / 2;
}

double ratio_of(const Element& e, double allowed) {
  return std::max(std::fabs(signed_error(e.computed, e.truth)) - e.truth.radius, 0.0) / allowed;
}

void offer(TermBest& best, double part, double allowed, double ratio, const Element& e) {
  const TermBest candidate{ratio, part / allowed, e.row, e.column, e.bits};
  if (candidate.better_than(best)) best = candidate;
}

void look(const Element& e, std::array<TermBest, kTerms>& best) {
  const ElementBound& b = e.bound;
  const double allowed = bound_with_rounding(e.format, e.truth, b);
  const double ratio = ratio_of(e, allowed);
  const double output = allowed - b.weights - b.numerator - b.denominator;
  const auto slot = [&](Term term) -> TermBest& { return best[static_cast<std::size_t>(term)]; };
  if (e.part == Part::o) {
    offer(slot(Term::o_weights), b.weights, allowed, ratio, e);
    offer(slot(Term::o_numerator), b.numerator, allowed, ratio, e);
    offer(slot(Term::o_denominator), b.denominator, allowed, ratio, e);
    offer(slot(Term::o_output), output, allowed, ratio, e);
  } else {
    offer(slot(Term::lse_weights), b.weights, allowed, ratio, e);
    offer(slot(Term::lse_denominator), b.denominator, allowed, ratio, e);
    offer(slot(Term::lse_output), output, allowed, ratio, e);
  }
}

Part part_of(std::size_t term) { return term < static_cast<std::size_t>(Term::lse_weights) ? Part::o : Part::lse; }

/// The ratio against a truth narrow enough to record.
double narrow_ratio(Element e, Oracle& oracle) {
  for (int level = 1; e.truth.radius > 0x1p-40 * std::fabs(signed_error(e.computed, e.truth)); ++level) {
    const RowBalls* row = oracle.row(e.row, level);
    if (row == nullptr) break;
    e.truth = e.part == Part::o ? row->o[static_cast<std::size_t>(e.column)] : row->lse;
  }
  return ratio_of(e, bound_with_rounding(e.format, e.truth, e.bound));
}

bool violates(const Verdict& v) {
  return v.failed() && (v.failure == Failure::exceeds_bound || v.failure == Failure::silently_wrong);
}

}  // namespace

std::string_view name(Term term) { return kNames[static_cast<std::size_t>(term)]; }

Term parse_term(std::string_view text) {
  const auto at = std::find(kNames.begin(), kNames.end(), text);
  if (at != kNames.end()) return static_cast<Term>(at - kNames.begin());
  std::string legal;
  for (const std::string_view known : kNames) legal += (legal.empty() ? "" : ", ") + std::string(known);
  throw UsageError("term " + quote(text) + ": must be one of " + legal);
}

Measurement measure(const Kernel& kernel, const Problem& problem, Precision precision) {
  const Bound bound = compute_bound(problem, kernel.arithmetic);
  const Output output = run(kernel, problem);
  Oracle oracle(problem);
  const Judgement judgement = judge(output, oracle, bound, kernel.contract, 0);
  Measurement result;
  const bool failed = judgement.worst.failed();
  if (violates(judgement.worst)) result.violation = judgement.worst.detail;
  for (const Part part : {Part::o, Part::lse}) {
    for (std::int64_t i = 0; i < count(oracle.truth(), part); ++i) {
      const Element e = judged_element(output, oracle.truth(), bound, judgement, part, i);
      if (!speaks(e) || (failed && decide(e, kernel.contract).failed())) continue;
      look(e, result.best);
    }
  }
  if (precision == Precision::search) return result;
  for (std::size_t term = 0; term < kTerms; ++term) {
    TermBest& best = result.best[term];
    if (best.share == 0) continue;
    const Part part = part_of(term);
    const std::int64_t index = part == Part::o ? best.row * oracle.truth().width + best.column : best.row;
    best.ratio = narrow_ratio(judged_element(output, oracle.truth(), bound, judgement, part, index), oracle);
  }
  return result;
}

}  // namespace flashproof
