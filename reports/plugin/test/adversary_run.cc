#include "reports/plugin/test/adversary_run.h"

#include <algorithm>

#include "properties/generators/family.h"
#include "reference/system/error.h"

namespace flashproof {

std::vector<std::vector<AdversaryCase*>> CasePool::taken(const Kernel& kernel, std::size_t cases) {
  constexpr std::uint64_t kTries = 12;
  if (kernel.contract.semantics != semantics_) made_.clear();
  semantics_ = kernel.contract.semantics;
  std::vector<std::vector<AdversaryCase*>> families;
  for (const Family& family : flashproof::families()) {
    if (!family.serves(problem_)) continue;
    std::vector<AdversaryCase*> list;
    // Even seeds of a gradient are stages, odd ones gradients: where one case is asked, half of the families have the one, half the other.
    const std::uint64_t first = seed_ + (problem_ == ProblemKind::backward ? families.size() % 2 : 0);
    for (std::uint64_t i = 0; i < kTries * cases && list.size() < cases; ++i) {
      const CaseSpec spec{problem_, std::string(family.name), first + i, {{"format", std::string(info(format_).name)}}};
      const auto [at, is_new] = made_.try_emplace({spec.family, spec.seed, kernel.contract.overflow});
      if (is_new) {
        try {
          at->second = std::make_unique<AdversaryCase>(make_case(spec), semantics_, kernel.contract.overflow);
        } catch (const UsageError&) {  // the family has no such case
        }
      }
      if (at->second != nullptr && kernel.unsupported(at->second->content.problem).empty()) {
        list.push_back(at->second.get());
      }
    }
    families.push_back(std::move(list));
  }
  return families;
}

std::string_view name(RunVerdict::Word word) {
  constexpr std::string_view kNames[] = {"pass", "undecided", "fail"};
  return kNames[static_cast<std::size_t>(word)];
}

namespace {

/// Which rule of RunPower::undecided() it was.
std::string rule_of(const std::string& why) {
  if (why.find(" was not asked, and ") != std::string::npos) return "unasked";
  if (why.find("was asked and decided no case") != std::string::npos) return "promise";
  if (why.find("takes what was not tested") != std::string::npos) return "capability";
  if (why.find("computes nothing") != std::string::npos) return "nothing computed";
  if (why.find("leave") != std::string::npos) return "taken";
  return why.find("input families") != std::string::npos ? "families" : "share";
}

RunVerdict verdict_of(const PluginReport& report) {
  using Word = RunVerdict::Word;
  for (const PluginResult& result : report.results) {
    const Verdict& verdict = result.tally.verdict;
    if (verdict.failed()) return {Word::fail, std::string(result.law), verdict.detail};
  }
  const PluginOutcome& outcome = report.outcomes.front();
  if (!outcome.narrow.empty()) return {Word::fail, "declaration", outcome.narrow};
  if (report.found()) return {Word::fail, "untested", "no case was run to its end"};
  if (!report.undecided()) return {Word::pass, "", ""};
  // The truth's own radius left some case open: no sentence of the run's.
  if (outcome.undecided.empty()) {
    const auto open = std::ranges::find_if(
        report.results, [](const PluginResult& r) { return r.tally.verdict.kind == VerdictKind::inconclusive; });
    return {Word::undecided, "inconclusive", open->tally.verdict.detail};
  }
  return {Word::undecided, rule_of(outcome.undecided.front()), outcome.undecided.front()};
}

/// Those that kCasesOfCapability cases test.
std::vector<const Capability*> drawn(std::span<const Capability* const> declared,
                                     std::span<const std::vector<AdversaryCase*>> families) {
  std::vector<const Capability*> list;
  for (const Capability* one : declared) {
    std::uint64_t cases = 0;
    for (const auto& family : families) {
      cases += static_cast<std::uint64_t>(std::ranges::count_if(
          family, [&](const AdversaryCase* made) { return one->tested_by(made->content.problem); }));
    }
    if (cases >= kCasesOfCapability) list.push_back(one);
  }
  return list;
}

}  // namespace

RunVerdict check_in_process(const Kernel& kernel, std::span<const std::vector<AdversaryCase*>> families,
                            std::span<const Law* const> asked, const std::function<Runner(AdversaryCase&)>& runner,
                            std::span<const Capability* const> declared) {
  const std::vector<Question> laws = questions(kernel.problem, asked);
  KernelRun run(kernel, laws, drawn(declared, families));
  bool failed = false;
  for (const std::vector<AdversaryCase*>& cases : families) {
    run.offer(cases.empty() ? "" : cases.front()->content.spec.family, !cases.empty());
    for (AdversaryCase* one : cases) {
      run.draw(one->content.spec, one->content.problem);
      if (failed) continue;
      Trial trial(kernel, one->content, &one->truth, {}, runner(*one));
      PluginAnswer answer{call_returns(trial)};
      run.add(one->content.spec, 0, answer);
      // Nothing takes a failure back: what comes after it is not asked.
      for (std::size_t law = 0; law < laws.size() && !failed && answer.verdict.kind == VerdictKind::pass; ++law) {
        const PluginAnswer said = PluginAnswer::parse(ask_law(*laws[law].law, trial).text());
        run.add(one->content.spec, law + 1, said);
        failed = failed || (laws[law].asked && said.verdict.failed());
      }
    }
  }
  PluginReport report;
  std::optional<PluginFailure> contradiction;
  report.outcomes.push_back(run.outcome(false, contradiction));
  for (std::size_t step = 0; step < run.results().size(); ++step) {
    if (run.asked(step)) report.results.push_back(std::move(run.results()[step]));
  }
  return verdict_of(report);
}

}  // namespace flashproof
