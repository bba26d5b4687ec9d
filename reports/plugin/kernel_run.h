// What the parent keeps of one kernel of a plugin while answers come in, and the verdict on the whole run of it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "properties/laws/run_power.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/check.h"

namespace flashproof {

class KernelRun {
 public:
  KernelRun(const Kernel& kernel, std::vector<Question> questions);

  /// As RunDecisions::offer().
  void offer(std::string_view family, bool taken) { decisions_.offer(family, taken); }
  /// Of a case, in any order of the cases. Step 0 is call_returns, then the laws.
  void add(const CaseSpec& spec, std::size_t step, const PluginAnswer& answer);
  /// After the last case. An open declaration that no single alternative explains is a failure of the first judging law, which
  /// `contradiction` then holds; if that was not asked for, it leaves the run undecided. `replay`: of chosen cases, which need not
  /// be enough of a test.
  PluginOutcome outcome(bool replay, std::optional<PluginFailure>& contradiction);

  const Kernel& kernel() const { return *kernel_; }
  /// call_returns, then question by question.
  std::vector<PluginResult>& results() { return results_; }
  bool asked(std::size_t step) const { return step == 0 || questions_[step - 1].asked; }

 private:
  const Kernel* kernel_;
  std::vector<Question> questions_;
  std::vector<PluginResult> results_;
  RunDecisions decisions_;
};

}  // namespace flashproof
