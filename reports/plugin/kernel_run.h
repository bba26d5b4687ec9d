// What the parent keeps of one kernel of a plugin while answers come in, and the verdict on the whole run of it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/plugin/capability.h"
#include "properties/laws/run_power.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/check.h"

namespace flashproof {

inline constexpr std::uint64_t kCasesOfCapability = 2;

class KernelRun {
 public:
  /// `declared`: what the run must have tested (Described).
  KernelRun(const Kernel& kernel, std::vector<Question> questions, std::span<const Capability* const> declared = {});

  /// As RunDecisions::offer().
  void offer(std::string_view family, bool taken) { decisions_.offer(family, taken); }
  /// Of a family that was offered and not taken: cases of another make were found. As RunDecisions::asks() from then on.
  void ask(std::string_view family) { decisions_.ask(family); }
  bool asks(std::string_view family) const { return decisions_.asks(family); }
  /// Of a case of the run: which capabilities it tests and how long it takes are remembered.
  void draw(const CaseSpec& spec, const Problem& problem);
  /// work_of() the case, if it was drawn.
  double work(const CaseSpec& spec) const;
  /// Whether the problem tests a capability that fewer than kCasesOfCapability cases do so far.
  bool wants(const Problem& problem) const;
  bool wants_more() const;
  /// A case that would test some, and why the description does not take it.
  void miss(const Problem& problem, const std::string& why);
  /// Of a case, in any order of the cases. Step 0 is call_returns, then the laws.
  void add(const CaseSpec& spec, std::size_t step, const PluginAnswer& answer);
  /// From now on answers may say kNotAsked: of themselves, not because a library refuses in these words.
  void give_up() { given_up_ = true; }
  /// After the last case. An open declaration that no single alternative explains is a failure of the first judging law, which
  /// `contradiction` then holds; if that was not asked for, it leaves the run undecided. `replay`: of chosen cases, which need not
  /// be enough of a test.
  PluginOutcome outcome(bool replay, std::optional<PluginFailure>& contradiction);

  const Kernel& kernel() const { return *kernel_; }
  std::span<const Question> questions() const { return questions_; }
  /// call_returns, then question by question.
  std::vector<PluginResult>& results() { return results_; }
  bool asked(std::size_t step) const { return step == 0 || questions_[step - 1].asked; }

 private:
  /// Of the cases of the run that test it.
  struct Tested {
    const Capability* capability;
    std::uint64_t drawn = 0, decided = 0, refused = 0;
    std::string missed = {};  // why the last case was not taken that would have tested it
  };

  /// Whether the case was judged or refused by the call, of each capability that it tests.
  void count(const CaseSpec& spec, std::size_t step, const Verdict& verdict);
  /// To the law's share, what is decided of the case.
  void tell_power(const CaseSpec& spec, std::size_t step, const PluginAnswer& answer);
  /// PluginResult::does_not_apply: of the law's own reasons the most frequent, else of the kernel's; whatever the order of cases.
  std::string reason(std::size_t step) const;
  /// Sentences of PluginOutcome::undecided: a law, or a capability, without an answer.
  void add_untested(std::vector<std::string>& undecided) const;

  const Kernel* kernel_;
  std::vector<Question> questions_;
  std::vector<PluginResult> results_;
  RunDecisions decisions_;
  std::vector<Tested> tested_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> tests_;  // places in tested_, by case
  std::map<std::string, double, std::less<>> work_;                     // by case
  struct Judged {
    AlternativesSeen seen;
    std::map<std::size_t, Power> powers;
  };
  std::map<std::string, Judged, std::less<>> open_;  // cases whose last law has not come
  /// Of the call: refused for what the run knows itself.
  bool was_not_asked(const Verdict& verdict) const { return given_up_ && verdict.detail.starts_with(kNotAsked); }

  bool given_up_ = false;
  std::uint64_t refused_ = 0, not_asked_ = 0;  // cases that the description takes, by the call
  std::vector<std::uint64_t> refused_by_law_;  // of the results
  std::vector<std::map<std::string, std::uint64_t>>
      reasons_;  // of the results: why nothing was said, in how many cases
};

}  // namespace flashproof
