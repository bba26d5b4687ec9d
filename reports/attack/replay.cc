#include "reports/attack/replay.h"

#include <cmath>
#include <utility>

#include "kernels/run/run.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/error/judge.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
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

TermBest measured(const Kernel& kernel, const Case& subject, Term term) {
  CaseTruth truth(subject);
  const Bound bound = judged_bound(kernel, subject, truth);
  const Output output = run(kernel, subject.problem);
  const Judgement judgement = judge(output, truth.truth(), bound, kernel.contract, 0, next_tier_of(truth, kernel));
  TermBest best = term_bests(output, truth.truth(), bound, judgement, kernel.contract)[static_cast<std::size_t>(term)];
  if (best.share == 0 || kernel.problem == ProblemKind::backward) return best;
  const Part part = part_of(term);
  const std::int64_t index = best.row * truth.truth().width_of(part) + best.column;
  best.ratio = narrow_ratio(judged_element(output, truth.truth(), bound, judgement, part, index), truth.oracle());
  return best;
}

}  // namespace

Problem data_of(const LedgerEntry& entry, const Kernel& kernel) {
  Problem problem = entry.origin().make();
  const auto refuse = [&](const std::string& why) {
    throw UsageError("ledger: " + entry.kernel + " does not take " + entry.case_line + ": " + why);
  };
  if (kind_of(problem) != kernel.problem) refuse("it is a kernel for " + std::string(name(kernel.problem)));
  if (format_of(problem) != entry.format) refuse("the entry is of " + std::string(info(entry.format).name));
  if (const std::string why = kernel.unsupported(problem); !why.empty()) refuse(why);
  return problem;
}

TermBest replay(const LedgerEntry& entry) {
  const Kernel* kernel = find_kernel(entry.kernel);
  if (kernel == nullptr) throw UsageError("ledger: kernel " + quote(entry.kernel) + " does not exist");
  if (!entry.term) throw UsageError("ledger: an entry of the whole bound has no element to measure again");
  return measured(*kernel, {entry.origin().spec, data_of(entry, *kernel)}, *entry.term);
}

void go_on_from(Search& search, const std::vector<LedgerEntry>& known) {
  for (const LedgerEntry& entry : known) {
    try {
      Problem data = data_of(entry, search.kernel());
      search.offer({{.origin = entry.origin()}, std::move(data)});
    } catch (const UsageError&) {  // of an older generator: found again or not
    }
  }
}

std::vector<LedgerEntry> entries_of(const Search& search) {
  std::vector<LedgerEntry> list;
  for (const auto& [best, candidate, full] : search.best()) {
    const Origin& origin = candidate.input.origin;
    const Term term = parse_term(best.term);
    list.push_back({.kernel = std::string(search.kernel().id),
                    .format = search.format(),
                    .term = term,
                    .best = measured(search.kernel(), {origin.spec, *candidate.problem}, term),
                    .case_line = to_string(origin.spec),
                    .mutations = origin.mutations});
  }
  return list;
}

}  // namespace flashproof
