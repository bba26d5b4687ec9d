#include "properties/laws/gradients.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/simt/schedule.h"
#include "reference/error/judge.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr std::string_view kBoundTeeth[] = {"attention_backward.broken.delta_not_subtracted"};
constexpr std::string_view kWrittenTeeth[] = {"attention_backward.broken.unseen_not_written"};

/// Wrong classes count too: a gradient has no law of its own for them.
Verdict within_bound(const GradientEvaluation& e) {
  std::uint64_t elements = 0, finite = 0;
  for (const Part part : kGradientParts) {
    elements += e.judgement.stats(part).elements;
    finite += e.judgement.stats(part).finite_elements;
  }
  if (e.judgement.worst.kind == VerdictKind::pass && elements > 0 && finite == 0) {
    return {VerdictKind::vacuous, Failure::none, "no element has a finite exact and a finite computed value"};
  }
  return e.judgement.worst;
}

Verdict fully_written(const GradientEvaluation& e) {
  std::string first;
  std::int64_t unwritten = 0, all = 0;
  for (const Part part : kGradientParts) {
    const Tensor& tensor = e.judged.tensor(part);
    const std::uint64_t poison = poison_bits(tensor.format);
    all += tensor.elements();
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (tensor.bits(i) != poison) continue;
      if (++unwritten == 1) first = describe(e.judged.element(part, i));
    }
  }
  if (unwritten == 0) return {};
  return {VerdictKind::fail, Failure::unwritten,
          fmt::format("{} of {} elements were never written, first {}", unwritten, all, first)};
}

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
