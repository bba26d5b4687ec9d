// Laws of the gradient: as law.h, over a backward kernel's dq, dk and dv. The relating laws that mean the same of both
// stand in one file with the forward law, as a template over the two kinds of trial; those that need another derivation
// have a file gradient_*.cc of their own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/backward.h"
#include "reference/error/gradients.h"
#include "reference/error/power.h"
#include "reference/error/trivial.h"
#include "reference/problem/random.h"

namespace flashproof {

/// What a judging law reads.
struct GradientEvaluation {
  const BackwardKernel& kernel;
  const JudgedGradients& judged;
  const GradientJudgement& judgement;  // judge() of it
  const Power* power = nullptr;        // as in Evaluation
};

/// What stands in for run(): the tests of the laws put other outputs here.
using GradientRunner =
    std::function<Gradients(const BackwardKernel& kernel, const BackwardProblem& problem, const RunOptions& options)>;

/// What the gradients of a problem are judged by, as CaseTruth: shared by the trials of several kernels. `forward`:
/// forward_errors() of it. The problem must outlive it.
class GradientReference {
 public:
  GradientReference(const BackwardProblem& problem, ForwardErrors forward)
      : problem_(&problem), forward_(std::move(forward)) {}
  const ForwardErrors& forward() const { return forward_; }
  /// Made when they are first asked for.
  const BackwardTruth& truth() const;
  const TrivialGradientGaps& gaps() const;

 private:
  const BackwardProblem* problem_;
  ForwardErrors forward_;
  mutable std::optional<BackwardTruth> truth_;
  mutable std::optional<TrivialGradientGaps> gaps_;
};

/// What a relating law works with, as Trial: a kernel, a problem, and a way to run the one on another problem. A relating
/// law reads the problem as a stage: a kernel sees o and lse as they are stored, in both modes.
class GradientTrial {
 public:
  /// The references must outlive the trial.
  GradientTrial(const BackwardKernel& kernel, const BackwardProblem& problem, RunOptions options = {},
                GradientRunner runner = run_kernel)
      : kernel_(kernel), problem_(problem), options_(std::move(options)), runner_(std::move(runner)) {}
  /// One that judging laws may be asked of.
  GradientTrial(const BackwardKernel& kernel, const BackwardProblem& problem, const GradientReference& reference,
                RunOptions options = {})
      : GradientTrial(kernel, problem, std::move(options)) {
    reference_ = &reference;
  }
  GradientTrial(const GradientTrial&) = delete;
  GradientTrial& operator=(const GradientTrial&) = delete;

  const BackwardKernel& kernel() const { return kernel_; }
  const Contract& contract() const { return kernel_.contract; }
  const BackwardProblem& problem() const { return problem_; }
  const RunOptions& options() const { return options_; }
  const GradientRunner& runner() const { return runner_; }
  /// As Trial::refusal.
  std::string refusal(const BackwardProblem& problem) const;
  Gradients run(const BackwardProblem& problem) const { return run(problem, options_); }
  Gradients run(const BackwardProblem& problem, const RunOptions& options) const {
    return runner_(kernel_, problem, options);
  }
  /// Of a stage: what stands in o and lse is exact.
  BackwardBound bound_of(BackwardProblem stage) const;
  /// Of the problem itself, each made when it is first asked for.
  const Gradients& output() const;
  const BackwardBound& bound() const;
  /// The output beside the truth: what a judging law reads. std::logic_error where the trial was given no reference.
  struct Judged {
    BackwardBound bound;
    GradientJudgement judgement;
    Power power;
  };
  const Judged& judged() const;
  const BackwardTruth& truth() const;
  /// A stream of its own for every law and problem; the same numbers in every run.
  Random random(std::string_view law) const;

 private:
  static Gradients run_kernel(const BackwardKernel& kernel, const BackwardProblem& problem, const RunOptions& options);

  const BackwardKernel& kernel_;
  const BackwardProblem& problem_;
  RunOptions options_;
  GradientRunner runner_;
  const GradientReference* reference_ = nullptr;
  mutable std::optional<Gradients> output_;
  mutable std::optional<BackwardBound> bound_;
  mutable std::optional<Judged> judged_;
};

struct GradientLaw {
  std::string_view name;
  std::string_view summary;
  // One of the two, as in Law.
  Verdict (*judge)(const GradientEvaluation& evaluation) = nullptr;
  Verdict (*relate)(const GradientTrial& trial) = nullptr;
  bool (*promised)(const Contract& contract) = nullptr;  // as Law::promised
  std::span<const std::string_view> must_reject = {};    // broken backward kernels, as Law::must_reject
};

/// Every law, in the order of the report, the judging ones first.
std::span<const GradientLaw> gradient_laws();
std::span<const GradientLaw> judging_gradient_laws();

/// The law's verdict; exceptions as in ask() of law.h.
Verdict ask(const GradientLaw& law, const GradientTrial& trial);

}  // namespace flashproof
