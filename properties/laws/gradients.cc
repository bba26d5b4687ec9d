#include "properties/laws/gradients.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/simt/schedule.h"
#include "properties/laws/gradient_list.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

/// FNV-1a: a name for a stream, nothing more.
class Fingerprint {
 public:
  void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3; }
  void add(const Tensor& tensor) {
    for (const std::int64_t extent : tensor.shape) add(static_cast<std::uint64_t>(extent));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(tensor.elements(), 16); ++i) add(tensor.bits(i));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

const BackwardTruth& GradientReference::truth() const {
  if (!truth_) truth_ = backward_truth(*problem_, problem_->forward.q.format);
  return *truth_;
}

const TrivialGradientGaps& GradientReference::gaps() const {
  if (!gaps_) gaps_ = trivial_gaps(*problem_, truth());
  return *gaps_;
}

std::string GradientTrial::refusal(const BackwardProblem& problem) const {
  try {
    validate(problem);
  } catch (const UsageError& error) {
    return error.what();
  }
  const Format format = problem.forward.q.format;
  if (!kernel_.supports(format)) return "format " + std::string(info(format).name);
  if (std::string why = kernel_.unsupported(problem); !why.empty()) return why;
  return backward_refused(problem.forward, kernel_.arithmetic_for(format));
}

BackwardBound GradientTrial::bound_of(BackwardProblem stage) const {
  stage.mode = BackwardMode::stage;
  return backward_bound(stage, kernel_.arithmetic_for(stage.forward.q.format));
}

const Gradients& GradientTrial::output() const {
  if (!output_) output_ = run(problem_);
  return *output_;
}

const BackwardBound& GradientTrial::bound() const {
  if (!bound_) bound_ = bound_of(problem_);
  return *bound_;
}

const BackwardTruth& GradientTrial::truth() const {
  if (reference_ == nullptr) throw std::logic_error("a judging law of the gradient was asked without a reference");
  return reference_->truth();
}

const GradientTrial::Judged& GradientTrial::judged() const {
  if (judged_) return *judged_;
  const BackwardTruth& exact = truth();
  const BackwardArithmetic arithmetic = kernel_.arithmetic_for(problem_.forward.q.format);
  Judged judged{backward_bound(problem_, arithmetic, reference_->forward()), {}, {}};
  const JudgedGradients read{output(), exact, judged.bound};
  judged.judgement = judge(read, contract(), 0);
  judged.power = power_of(read, contract(), reference_->gaps());
  return judged_.emplace(std::move(judged));
}

Random GradientTrial::random(std::string_view law) const {
  Fingerprint name, problem;
  for (const char c : law) name.add(static_cast<unsigned char>(c));
  for (const Tensor* tensor : {&problem_.forward.q, &problem_.forward.k, &problem_.d_out}) problem.add(*tensor);
  return {problem.value(), name.value()};
}

Gradients GradientTrial::run_kernel(const BackwardKernel& kernel, const BackwardProblem& problem,
                                    const RunOptions& options) {
  return flashproof::run(kernel, problem, options);
}

std::span<const GradientLaw> gradient_laws() {
  static const GradientLaw kLaws[] = {
      gradient_within_bound(),
      gradient_fully_written(),
      gradient_rows_sum_to_zero(),
      gradient_columns_sum_to_d_out(),
      gradient_sums_are_additive(),
      gradient_power_of_two_scaling_is_bitwise(),
      gradient_mask_forms_agree(),
      gradient_unused_storage_is_isolated(),
      gradient_hidden_nan_is_isolated(),
      gradient_visible_nan_is_not_laundered(),
      gradient_red_zones_untouched(),
      gradient_layout_invariance(),
      gradient_batch_invariance_is_bitwise(),
      gradient_rerun_is_bitwise(),
      gradient_schedule_invariance_is_bitwise(),
      gradient_no_race(),
      gradient_permutation_within_bound(),
      gradient_gqa_equals_expanded(),
      gradient_offsets_beyond_int32(),
  };
  return kLaws;
}

std::span<const GradientLaw> judging_gradient_laws() {
  const auto all = gradient_laws();
  const auto end = std::ranges::find_if(all, [](const GradientLaw& law) { return law.judge == nullptr; });
  return all.first(static_cast<std::size_t>(end - all.begin()));
}

Verdict ask(const GradientLaw& law, const GradientTrial& trial) {
  if (std::string why = trial.refusal(trial.problem()); !why.empty()) {
    return {VerdictKind::unsupported, Failure::none, std::move(why)};
  }
  try {
    if (law.relate != nullptr) return law.relate(trial);
    const GradientTrial::Judged& by = trial.judged();
    const JudgedGradients judged{trial.output(), trial.truth(), by.bound};
    return law.judge({trial.kernel(), judged, by.judgement, &by.power});
  } catch (const UsageError& error) {
    // The kernel takes the case, and a law asks before it runs another problem: nothing of the law would be asked here.
    throw std::logic_error(std::string(law.name) + ": " + error.what());
  } catch (const simt::Fault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  } catch (const KernelFault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  }
}

}  // namespace flashproof
