#include "properties/laws/gradients.h"

#include <fmt/format.h>

#include "reference/error/judge.h"

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

std::span<const GradientLaw> gradient_laws() {
  static const GradientLaw kLaws[] = {
      {"gradient_within_bound", "every element of dq, dk and dv has the right class and lies within its a-priori bound",
       within_bound, kBoundTeeth},
      {"gradient_fully_written", "every element of dq, dk and dv is stored", fully_written, kWrittenTeeth},
  };
  return kLaws;
}

}  // namespace flashproof
