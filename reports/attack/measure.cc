#include "reports/attack/measure.h"

#include <cmath>

#include "kernels/run/run.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/error/judge.h"
#include "reports/run/evaluate.h"

namespace flashproof {
namespace {

/// The ratio against a truth narrow enough to record.
double narrow_ratio(Element e, Oracle& oracle) {
  for (int level = 1; e.truth.radius > 0x1p-40 * std::fabs(signed_error(e.computed, e.truth)); ++level) {
    const RowBalls* row = oracle.row(e.row, level);
    if (row == nullptr) break;
    e.truth = e.part == Part::o ? row->o[static_cast<std::size_t>(e.column)] : row->lse;
  }
  return term_ratio(e, bound_with_rounding(e.format, e.truth, e.bound));
}

bool violates(const Verdict& v) {
  return v.failed() && (v.failure == Failure::exceeds_bound || v.failure == Failure::silently_wrong);
}

}  // namespace

Measurement measure(const Kernel& kernel, const Problem& problem, Precision precision) {
  const Case subject{{kernel.problem, "searched", 0, {}}, problem};
  CaseTruth truth(subject);
  const Bound bound = judged_bound(kernel, subject, truth);
  const Output output = run(kernel, problem);
  const Judgement judgement = judge(output, truth.truth(), bound, kernel.contract, 0, next_tier_of(truth, kernel));
  Measurement result;
  if (violates(judgement.worst)) result.violation = judgement.worst.detail;
  result.best = term_bests(output, truth.truth(), bound, judgement, kernel.contract);
  if (precision == Precision::search || kernel.problem == ProblemKind::backward) return result;
  for (std::size_t term = 0; term < kTerms; ++term) {
    TermBest& best = result.best[term];
    if (best.share == 0) continue;
    const Part part = part_of(static_cast<Term>(term));
    const std::int64_t index = best.row * truth.truth().width_of(part) + best.column;
    best.ratio = narrow_ratio(judged_element(output, truth.truth(), bound, judgement, part, index), truth.oracle());
  }
  return result;
}

}  // namespace flashproof
