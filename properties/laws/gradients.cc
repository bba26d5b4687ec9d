#include "properties/laws/gradients.h"

#include <algorithm>

#include "kernels/simt/schedule.h"
#include "properties/laws/judging_gradients.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr std::string_view kBoundTeeth[] = {"attention_backward.broken.delta_not_subtracted"};
constexpr std::string_view kWrittenTeeth[] = {"attention_backward.broken.unseen_not_written"};

Verdict within_bound(const GradientEvaluation& e) { return gradients_within_bound(e.judgement); }
Verdict fully_written(const GradientEvaluation& e) { return gradients_fully_written(e.judged); }

}  // namespace

std::string GradientTrial::refusal(const BackwardProblem& problem) const {
  try {
    validate(problem);
  } catch (const UsageError& error) {
    return error.what();
  }
  const Format format = problem.forward.q.format;
  if (!kernel_.supports(format)) return "format " + std::string(info(format).name);
  return kernel_.unsupported(problem);
}

std::span<const GradientLaw> gradient_laws() {
  static const GradientLaw kLaws[] = {
      {.name = "gradient_within_bound",
       .summary = "every element of dq, dk and dv has the right class and lies within its a-priori bound",
       .judge = within_bound,
       .must_reject = kBoundTeeth},
      {.name = "gradient_fully_written",
       .summary = "every element of dq, dk and dv is stored",
       .judge = fully_written,
       .must_reject = kWrittenTeeth},
      gradient_rows_sum_to_zero(),
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
    return law.relate(trial);
  } catch (const UsageError& error) {
    return {VerdictKind::unsupported, Failure::none, error.what()};
  } catch (const simt::Fault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  } catch (const KernelFault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  }
}

}  // namespace flashproof
