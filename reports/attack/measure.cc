#include "reports/attack/measure.h"

#include <cmath>

#include "kernels/run.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

Part part_of(std::size_t term) { return term < static_cast<std::size_t>(Term::lse_weights) ? Part::o : Part::lse; }

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
  const Bound bound = compute_bound(problem, kernel.arithmetic);
  const Output output = run(kernel, problem);
  Oracle oracle(problem);
  const Judgement judgement = judge(output, oracle, bound, kernel.contract, 0);
  Measurement result;
  if (violates(judgement.worst)) result.violation = judgement.worst.detail;
  result.best = term_bests(output, oracle.truth(), bound, judgement, kernel.contract);
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
