#include "reports/plugin/kernel_run.h"

#include <fmt/format.h>

#include <utility>

namespace flashproof {

KernelRun::KernelRun(const Kernel& kernel, std::vector<Question> questions)
    : kernel_(&kernel), questions_(std::move(questions)) {
  results_.push_back({kernel_, kCallReturns, {}});
  for (const Question& one : questions_) results_.push_back({kernel_, one.law->name, {}});
}

void KernelRun::add(const CaseSpec& spec, std::size_t step, const PluginAnswer& answer) {
  PluginResult& result = results_.at(step);
  decisions_.add(spec, answer.alternatives, answer.powers);
  if (!asked(step)) return decisions_.unasked(result.law, spec, answer.verdict);
  // The description takes it, or it would have been refused in every case of the family.
  if (step == 0 && answer.verdict.kind == VerdictKind::unsupported && decisions_.asks(spec.family))
    decisions_.refuse(spec.family);
  result.tally.add(answer.verdict, answer.ratio);
  result.by_family[spec.family].add(answer.verdict, answer.ratio);
  // A law's own reason says more than that the kernel does not take the case.
  const std::string& refused = results_.front().does_not_apply;
  if (answer.verdict.kind == VerdictKind::unsupported &&
      (result.does_not_apply.empty() || answer.verdict.detail != refused)) {
    result.does_not_apply = answer.verdict.detail;
  }
}

PluginOutcome KernelRun::outcome(bool replay, std::optional<PluginFailure>& contradiction) {
  PluginOutcome outcome{.kernel = kernel_};
  const Conclusion conclusion = decisions_.conclude(*kernel_);
  outcome.undecided = conclusion.unasked;
  if (conclusion.contradiction) {
    const auto& [verdict, cases] = *conclusion.contradiction;
    if (asked(1)) {
      results_.at(1).tally.add(verdict, -1);
      contradiction = PluginFailure{cases.back(), verdict, {}, {}, cases};
    } else if (outcome.undecided.empty()) {
      outcome.undecided.push_back(verdict.detail);
    }
  }
  if (replay) return outcome;
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const auto& [law, asked] = questions_[i];
    const PluginResult& result = results_[1 + i];
    const bool promised = asked && law->promised != nullptr && law->promised(kernel_->contract);
    // A judging law that says nothing of any case has no bound for them: nothing was asked of the kernel.
    if (promised && (result.executed() > 0 || law->judge != nullptr) && result.decided() == 0) {
      outcome.undecided.push_back(fmt::format("{} was asked and decided no case", result.law));
    }
  }
  outcome.power = conclusion.power;
  outcome.families = conclusion.families;
  outcome.open = conclusion.open;
  outcome.undecided.insert(outcome.undecided.end(), conclusion.undecided.begin(), conclusion.undecided.end());
  outcome.narrow = conclusion.narrow;
  outcome.suggestion = conclusion.suggestion;
  return outcome;
}

}  // namespace flashproof
