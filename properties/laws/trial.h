// One kernel on one case, and everything that a law may ask about the two. Each thing is made when it is first asked for,
// and once; the truth of a case is shared by the trials of many kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "properties/laws/explanation.h"
#include "reference/bound/backward/bound.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/error/power.h"
#include "reference/error/semantics/declared_truth.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/case.h"
#include "reference/problem/random.h"

namespace flashproof {

/// What a case is judged by, each made when it is first asked for. The case must outlive it.
class CaseTruth {
 public:
  explicit CaseTruth(const Case& subject) : subject_(&subject) {}
  /// Of a forward problem.
  Oracle& oracle();
  const Truth& truth();
  const TrivialGaps& gaps();
  /// Of a gradient: how far the stored lse and o are from the exact ones.
  const ForwardErrors& forward();

 private:
  const Case* subject_;
  std::optional<Oracle> oracle_;
  std::optional<Truth> truth_;  // of a gradient
  std::optional<TrivialGaps> gaps_;
  std::optional<ForwardErrors> forward_;
};

/// What stands in for run(): the tests of the laws put trivial outputs here.
using Runner = std::function<Output(const Kernel& kernel, const Problem& problem, const RunOptions& options)>;

/// Why a kernel with a forward pass of its own takes no stage.
inline constexpr std::string_view kNoStage = "mode: a stage, legal: gradient, for this kernel takes no o and lse";

/// A kernel that declares other semantics (Contract::semantics) is judged by the truth that they make; relating laws read its outputs
/// and the problems that it is given in the reference's terms.
class Trial {
 public:
  /// `truth` is shared with other trials of the case; null: this one's own. All references must outlive the trial. Where the
  /// declared semantics make another problem of the case, that is the trial's subject().
  Trial(const Kernel& kernel, const Case& subject, CaseTruth* truth = nullptr, RunOptions options = {},
        Runner runner = run_kernel);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Kernel& kernel() const { return *kernel_; }
  const Contract& contract() const { return kernel_->contract; }
  const Case& subject() const { return *subject_; }
  const Problem& problem() const { return subject_->problem; }

  /// Of the case itself, in the reference's terms. Throws what run() throws.
  const Output& output();
  /// The same as the kernel returned it.
  const Output& returned();
  /// Whether the kernel takes the case when it is called.
  bool returns();
  /// bound_of() the case. A gradient is judged by another one, which knows of the errors in its o and lse: judged().
  const Bound& bound();
  /// By the declared semantics, as what returned() is judged by.
  const Truth& truth();
  /// Of a forward problem, under bound().
  const Judgement& judgement();
  /// The same with this number in its witnesses.
  Judgement measured(std::uint64_t case_index);

  /// The output judged by one declaration: the kernel's own, or one of those that an open one stands for.
  struct Judged {
    std::size_t alternative = 0;  // index into alternatives(), of a gradient into Kernel::backward_for()
    Bound bound;
    Judgement judgement;
    Power power;
  };
  /// Of an open declaration one for each alternative that has a meaning for this problem, else one.
  const std::vector<Judged>& judged();
  /// What the judging laws that were asked() said of them.
  const AlternativesSeen& alternatives_seen() const { return seen_; }
  /// Of judged(), by alternative.
  std::map<std::size_t, Power> powers();
  void note_alternative(std::size_t alternative, bool failed);

  /// Empty if the kernel takes this problem, else why not. A case that is not valid counts as one that it does not take;
  /// that a law makes such a problem is its own defect: std::logic_error. Laws ask before every run of another problem.
  std::string refusal(const Problem& problem) const;
  /// Of another problem, or under other options, in the reference's terms. Throws what run() throws.
  Output run(const Problem& problem);
  Output run(const Problem& problem, const RunOptions& options);
  const RunOptions& options() const { return options_; }
  const Runner& runner() const { return runner_; }
  /// Of a gradient as a stage: a relating law compares what kernels make of the same o and lse, whatever these are. Of a kernel
  /// that makes its own (own_forward) the bound of both passes.
  Bound bound_of(const Problem& problem) const;

  /// A stream of its own for every law and case (of a gradient: by its numbers); the same numbers in every run.
  Random random(std::string_view law) const;
  /// Of the kernel, so far.
  std::uint64_t runs() const { return runs_; }
  /// Whether truth() or judgement() was asked for.
  bool consulted_truth() const { return consulted_truth_; }

  static Output run_kernel(const Kernel& kernel, const Problem& problem, const RunOptions& options);

 private:
  /// Null where the semantics are the reference's.
  const DeclaredTruth* declared();
  /// Of returned(), where the arithmetic is no open one.
  Bound judged_bound(const Arithmetic& arithmetic);
  Judgement judged_by(const Bound& bound, std::uint64_t case_index);

  const Kernel* kernel_;
  std::optional<Case> own_case_;
  const Case* subject_;
  CaseTruth own_truth_;
  CaseTruth* truth_;
  RunOptions options_;
  Runner runner_;
  std::optional<Output> output_, returned_;
  std::optional<Bound> bound_;
  std::optional<DeclaredTruth> declared_;  // where the semantics differ from the reference's
  std::optional<Judgement> judgement_;
  std::optional<std::vector<Judged>> judged_;
  AlternativesSeen seen_;
  std::uint64_t runs_ = 0;
  bool consulted_truth_ = false;
};

/// What a law says where it has nothing to say: of such a problem or kernel, and of this case.
inline Verdict unsupported(std::string why) { return {VerdictKind::unsupported, Failure::none, std::move(why)}; }
inline Verdict vacuous(std::string why) { return {VerdictKind::vacuous, Failure::none, std::move(why)}; }

}  // namespace flashproof
