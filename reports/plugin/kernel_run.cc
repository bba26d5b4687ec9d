#include "reports/plugin/kernel_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "reports/plugin/pieces.h"

namespace flashproof {

KernelRun::KernelRun(const Kernel& kernel, std::vector<Question> questions, std::span<const Capability* const> declared)
    : kernel_(&kernel), questions_(std::move(questions)) {
  for (const Capability* one : declared) tested_.push_back({one});
  refused_by_law_.resize(questions_.size() + 1);
  reasons_.resize(questions_.size() + 1);
  results_.push_back({kernel_, kCallReturns, {}});
  for (const Question& one : questions_) results_.push_back({kernel_, one.law->name, {}});
}

void KernelRun::draw(const CaseSpec& spec, const Problem& problem) {
  std::vector<std::size_t>& places = tests_[to_string(spec)];
  work_[to_string(spec)] = work_of(problem);
  for (std::size_t i = 0; i < tested_.size(); ++i) {
    if (!tested_[i].capability->tested_by(problem)) continue;
    ++tested_[i].drawn;
    places.push_back(i);
  }
}

double KernelRun::work(const CaseSpec& spec) const {
  const auto found = work_.find(to_string(spec));
  return found == work_.end() ? kLeastWork : found->second;
}

bool KernelRun::wants(const Problem& problem) const {
  return std::ranges::any_of(
      tested_, [&](const Tested& one) { return one.drawn < kCasesOfCapability && one.capability->tested_by(problem); });
}

bool KernelRun::wants_more() const {
  return std::ranges::any_of(tested_, [](const Tested& one) { return one.drawn < kCasesOfCapability; });
}

void KernelRun::miss(const Problem& problem, const std::string& why) {
  for (Tested& one : tested_) {
    if (one.drawn == 0 && one.capability->tested_by(problem)) one.missed = why;
  }
}

void KernelRun::count(const CaseSpec& spec, std::size_t step, const Verdict& verdict) {
  const auto found = tests_.find(to_string(spec));
  // By the law that every run asks of every case.
  const bool judged = step > 0 && questions_[step - 1].law == &judging_laws().front();
  const bool decided = judged && (verdict.kind == VerdictKind::pass || verdict.failed());
  const bool refused = step == 0 && verdict.kind == VerdictKind::unsupported && !was_not_asked(verdict);
  for (std::size_t i = 0; found != tests_.end() && i < found->second.size(); ++i) {
    Tested& one = tested_[found->second[i]];
    one.decided += decided ? 1 : 0;
    one.refused += refused ? 1 : 0;
  }
  if (verdict.kind == VerdictKind::vacuous && verdict.detail.starts_with(kRefusedByLaw)) ++refused_by_law_.at(step);
}

void KernelRun::tell_power(const CaseSpec& spec, std::size_t step, const PluginAnswer& answer) {
  const std::string name = to_string(spec);
  // The first judging law brings them; a case's other laws come after it.
  if (!answer.powers.empty()) open_.insert_or_assign(name, Judged{answer.alternatives, answer.powers});
  const auto judged = open_.find(name);
  if (judged == open_.end()) return;
  const bool said = answer.verdict.kind == VerdictKind::pass || answer.verdict.failed();
  if (said && asked(step)) decisions_.said(results_.at(step).law, spec, judged->second.seen, judged->second.powers);
  if (step == questions_.size()) open_.erase(judged);
}

void KernelRun::add(const CaseSpec& spec, std::size_t step, const PluginAnswer& answer) {
  PluginResult& result = results_.at(step);
  decisions_.add(spec, answer.alternatives, answer.powers);
  tell_power(spec, step, answer);
  count(spec, step, answer.verdict);
  if (!asked(step)) return decisions_.unasked(result.law, spec, answer.verdict);
  // The description takes it, or it would have been refused in every case of the family.
  const bool unsupported = step == 0 && answer.verdict.kind == VerdictKind::unsupported;
  if (unsupported && was_not_asked(answer.verdict)) {
    ++not_asked_;
  } else if (unsupported && decisions_.asks(spec.family)) {
    decisions_.refuse(spec.family);
    ++refused_;
  }
  result.tally.add(answer.verdict, answer.ratio);
  result.by_family[spec.family].add(answer.verdict, answer.ratio);
  if (answer.verdict.kind == VerdictKind::unsupported) ++reasons_.at(step)[answer.verdict.detail];
}

std::string KernelRun::reason(std::size_t step) const {
  const auto rank = [&](const auto& said) {  // a law's own reason says more than that the kernel does not take the case
    const bool own = step == 0 || !reasons_.front().contains(said.first);
    return std::tuple(own && said.first != kNotRelated, own, said.second);
  };
  const auto& said = reasons_.at(step);
  const auto most = std::ranges::max_element(said, {}, rank);
  return most == said.end() ? "" : most->first;
}

void KernelRun::add_untested(std::vector<std::string>& undecided) const {
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const auto& [law, asked] = questions_[i];
    const PluginResult& result = results_[1 + i];
    const bool promised = asked && law->is_promised(kernel_->problem, kernel_->contract);
    // A judging law that says nothing of any case has no bound for them: nothing was asked of the kernel.
    const bool was_asked = result.executed() > 0 || law->judge != nullptr;
    if (promised && !was_asked) {
      undecided.push_back(fmt::format("{} was asked of no case: {}", result.law, reason(1 + i)));
    } else if (promised && result.decided() == 0) {
      undecided.push_back(fmt::format("{} was asked and decided no case", result.law));
    } else if (std::string why = undecided_promise(result.law, result.power); promised && !why.empty()) {
      undecided.push_back(std::move(why));
    } else if (asked && refused_by_law_[1 + i] > result.decided()) {
      undecided.push_back(refused_law_text(result.law, refused_by_law_[1 + i], result.executed()));
    }
  }
  std::vector<std::string> list;
  for (const Tested& one : tested_) {
    if (one.decided > 0 && one.refused <= one.decided) continue;
    std::string why = one.drawn == 0 ? "no case" + (one.missed.empty() ? "" : ", as " + one.missed)
                                     : fmt::format("{} of {} cases decided", one.decided, one.drawn);
    if (one.refused > 0) why += fmt::format(", {} refused when the kernel was called", one.refused);
    list.push_back(fmt::format("{} ({})", one.capability->name, why));
  }
  if (list.empty()) return;
  undecided.push_back(fmt::format("the description takes what was not tested: {}", fmt::join(list, "; ")));
}

PluginOutcome KernelRun::outcome(bool replay, std::optional<PluginFailure>& contradiction) {
  PluginOutcome outcome{.kernel = kernel_};
  for (std::size_t step = 0; step < results_.size(); ++step) results_[step].does_not_apply = reason(step);
  const Conclusion conclusion = decisions_.conclude(*kernel_);
  for (PluginResult& result : results_) {
    if (const auto at = conclusion.by_law.find(result.law); at != conclusion.by_law.end()) result.power = at->second;
  }
  outcome.undecided = conclusion.unasked;
  for (std::size_t step = 0; step < results_.size(); ++step) {
    const Verdict& worst = results_[step].tally.verdict;
    if (asked(step) && worst.kind == VerdictKind::inconclusive)
      outcome.undecided.push_back(fmt::format("{} is inconclusive: {}", results_[step].law, worst.detail));
  }
  if (conclusion.contradiction) {
    const auto& [verdict, cases] = *conclusion.contradiction;
    if (asked(1)) {
      results_.at(1).tally.add(verdict, -1);
      contradiction = PluginFailure{cases.back(), verdict, {}, {}, cases};
    } else if (outcome.undecided.empty()) {
      outcome.undecided.push_back(verdict.detail);
    }
  }
  if (replay && results_.front().tally.verdict.kind == VerdictKind::unsupported) {
    outcome.undecided.push_back("the kernel does not take this case: " + results_.front().does_not_apply);
    return outcome;
  }
  if (replay) {
    const auto laws = std::span(results_).subspan(1);
    const auto failed = [](const PluginResult& law) { return law.tally.verdict.failed(); };
    const auto silent = [](const PluginResult& law) { return law.decided() == 0; };
    const auto is_asked = [&](const PluginResult& law) {
      return asked(static_cast<std::size_t>(&law - results_.data()));
    };
    if (std::ranges::any_of(results_, failed) || !outcome.undecided.empty()) return outcome;
    if (!conclusion.judged) {
      outcome.undecided.emplace_back(kJudgedNothing);
    } else if (std::ranges::any_of(laws, is_asked) && std::ranges::all_of(laws, silent)) {
      outcome.undecided.emplace_back("no law that was asked decided a case: what it looks at is not there");
    }
    return outcome;
  }
  add_untested(outcome.undecided);
  outcome.refused = refused_;
  outcome.not_asked = not_asked_;
  outcome.power = conclusion.power;
  outcome.families = conclusion.families;
  outcome.open = conclusion.open;
  outcome.undecided.insert(outcome.undecided.end(), conclusion.undecided.begin(), conclusion.undecided.end());
  outcome.narrow = conclusion.narrow;
  // Of a kernel that fails no declaration explains the run.
  const bool fails = std::ranges::any_of(results_, [](const PluginResult& r) { return r.tally.verdict.failed(); });
  if (!fails) outcome.suggestion = conclusion.suggestion;
  return outcome;
}

}  // namespace flashproof
