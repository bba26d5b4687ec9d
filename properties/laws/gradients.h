// Laws of the gradient: as law.h, over a backward kernel's dq, dk and dv.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "kernels/backward.h"
#include "reference/error/gradients.h"

namespace flashproof {

/// What a judging law reads.
struct GradientEvaluation {
  const BackwardKernel& kernel;
  const JudgedGradients& judged;
  const GradientJudgement& judgement;  // judge() of it
};

/// What a relating law works with, as Trial: a kernel, a problem, and a way to run the one on another problem.
class GradientTrial {
 public:
  /// The references must outlive the trial.
  GradientTrial(const BackwardKernel& kernel, const BackwardProblem& problem, RunOptions options = {})
      : kernel_(kernel), problem_(problem), options_(std::move(options)) {}

  const BackwardKernel& kernel() const { return kernel_; }
  const BackwardProblem& problem() const { return problem_; }
  /// As Trial::refusal.
  std::string refusal(const BackwardProblem& problem) const;
  Gradients run(const BackwardProblem& problem) const { return flashproof::run(kernel_, problem, options_); }
  /// Of a stage: what stands in o and lse is exact.
  BackwardBound bound_of(const BackwardProblem& stage) const {
    return backward_bound(stage, kernel_.arithmetic_for(stage.forward.q.format));
  }

 private:
  const BackwardKernel& kernel_;
  const BackwardProblem& problem_;
  RunOptions options_;
};

struct GradientLaw {
  std::string_view name;
  std::string_view summary;
  // One of the two, as in Law.
  Verdict (*judge)(const GradientEvaluation& evaluation) = nullptr;
  Verdict (*relate)(const GradientTrial& trial) = nullptr;
  std::span<const std::string_view> must_reject = {};  // broken backward kernels, as Law::must_reject
};

/// Every law, in the order of the report, the judging ones first.
std::span<const GradientLaw> gradient_laws();
std::span<const GradientLaw> judging_gradient_laws();

/// A relating law's verdict; exceptions as in ask() of law.h.
Verdict ask(const GradientLaw& law, const GradientTrial& trial);

// Relating laws, a file each.
GradientLaw gradient_rows_sum_to_zero();

}  // namespace flashproof
