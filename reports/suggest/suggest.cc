#include "reports/suggest/suggest.h"

#include <algorithm>
#include <iterator>

#include "properties/laws/law.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/system/error.h"
#include "reports/suggest/search.h"
#include "reports/suggest/special_rows.h"

namespace flashproof {

std::size_t failures(const Said& said) {
  return static_cast<std::size_t>(
      std::ranges::count_if(said, [](const CaseSaid& one) { return one.verdict.failed(); }));
}

Kernel Search::candidate(const Semantics& semantics, const Arithmetic& arithmetic) const {
  Kernel other = kernel;
  other.contract.semantics = semantics;
  other.arithmetic = arithmetic;
  return other;
}

std::vector<Said> Search::judge(std::span<const Kernel> candidates, std::span<const Case> some) const {
  return ask(candidates, some, AskedLaws::judging);
}

Arithmetic Search::parsed(const std::string& text) const {
  return parse_arithmetic(text, kernel.problem, kernel.formats[0]);
}

CaseSaid ask_case(const Kernel& candidate, const Case& subject, AskedLaws laws) {
  CaseSaid said;
  Trial trial(candidate, subject);
  bool first = true;
  for (const Law& law : judging_laws()) {
    Verdict verdict = ask(law, trial);
    if (first || outweighs(verdict, said.verdict)) said.verdict = std::move(verdict);
    first = false;
    if (said.verdict.kind == VerdictKind::unsupported) return said;
  }
  if (said.verdict.failure == Failure::error) return said;
  said.seen = trial.alternatives_seen();
  said.powers = trial.powers();
  if (laws == AskedLaws::judging) return said;
  for (const Law* law : laws_of(candidate.problem)) {
    Verdict verdict = law->judge == nullptr ? ask(*law, trial) : said.verdict;
    if (verdict.failed() && outweighs(verdict, said.verdict)) said.verdict = std::move(verdict);
  }
  return said;
}

namespace {

/// Cases that the kernel refuses say nothing of a declaration. What does not come back is explained by none: it is in the result then.
void leave_out_refused(Search& search, Suggestion& result) {
  const Said said =
      search.judge(std::vector{search.candidate(without_special_rows({}), search.parsed("unknown"))}, search.cases)
          .front();
  const auto broken = [](const CaseSaid& one) { return one.verdict.failure == Failure::error; };
  if (std::ranges::any_of(said, broken)) {
    result.semantics = "{}";
    result.arithmetic = "\"unknown\"";
    result.cases = search.cases.size();
    for (std::size_t i = 0; i < search.cases.size(); ++i) {
      if (broken(said[i])) result.unexplained.push_back({search.cases[i].spec, said[i].verdict});
    }
    return;
  }
  std::vector<Case> taken;
  for (std::size_t i = 0; i < search.cases.size(); ++i) {
    const std::string& family = search.cases[i].spec.family;
    const bool drawn = !search.cases[i].spec.keys.contains(kPlanted),
               refused = said[i].verdict.kind == VerdictKind::unsupported;
    const bool described = search.kernel.unsupported(search.cases[i].problem).empty();
    if (drawn) search.offered[family] = search.offered[family] || described;
    if (drawn && refused && described) ++search.refused[family];
    if (!refused) taken.push_back(std::move(search.cases[i]));
  }
  search.cases = std::move(taken);
  if (search.cases.empty()) throw UsageError("no case: the kernel takes none that was drawn");
  result.cases = search.cases.size();
}

}  // namespace

Suggestion suggest(const Kernel& kernel, std::span<const Case> cases, const AskCases& ask) {
  if (kernel.problem == ProblemKind::backward) {
    throw UsageError("suggest: a gradient declares no semantics, legal: kernels of forward problems");
  }
  if (cases.empty()) throw UsageError("suggest: no case, the description takes none of those drawn");
  Search search{.kernel = kernel, .ask = ask, .cases = {cases.begin(), cases.end()}};
  std::ranges::move(special_row_cases(kernel, cases), std::back_inserter(search.cases));
  Suggestion result;
  leave_out_refused(search, result);
  if (!result.unexplained.empty()) return result;
  choose_arithmetic(search, choose_semantics(search, result.notes), result);
  return result;
}

}  // namespace flashproof
