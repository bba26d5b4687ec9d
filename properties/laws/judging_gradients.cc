#include "properties/laws/judging_gradients.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "kernels/run.h"

namespace flashproof {

Verdict gradients_within_bound(const GradientJudgement& judgement) {
  std::uint64_t elements = 0, finite = 0;
  for (const Part part : kGradientParts) {
    elements += judgement.stats(part).elements;
    finite += judgement.stats(part).finite_elements;
  }
  if (judgement.worst.kind == VerdictKind::pass && elements > 0 && finite == 0) {
    return {VerdictKind::vacuous, Failure::none, "no element has a finite exact and a finite computed value"};
  }
  return judgement.worst;
}

Verdict gradients_fully_written(const JudgedGradients& judged) {
  std::string first;
  std::int64_t unwritten = 0, all = 0;
  for (const Part part : kGradientParts) {
    const Tensor& tensor = judged.tensor(part);
    const std::uint64_t poison = poison_bits(tensor.format);
    all += tensor.elements();
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (tensor.bits(i) != poison) continue;
      if (++unwritten == 1) first = describe(judged.element(part, i));
    }
  }
  if (unwritten == 0) return {};
  return {VerdictKind::fail, Failure::unwritten,
          fmt::format("{} of {} elements were never written, first {}", unwritten, all, first)};
}

Verdict gradients_have_the_same_bits(const Gradients& first, const Gradients& again) {
  std::int64_t differing = 0, all = 0;
  std::string where;
  for (const auto& [name, tensor] :
       {std::pair{"dq", &Gradients::dq}, std::pair{"dk", &Gradients::dk}, std::pair{"dv", &Gradients::dv}}) {
    const Tensor& a = first.*tensor;
    const Tensor& b = again.*tensor;
    all += a.elements();
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      if (a.bits(i) == b.bits(i)) continue;
      if (++differing == 1)
        where = fmt::format("{}[{}]: {} and {}", name, i, decode(a.format, a.bits(i)), decode(b.format, b.bits(i)));
    }
  }
  if (differing == 0) return {};
  return {VerdictKind::fail, Failure::nondeterministic,
          fmt::format("{} of {} elements have other bits in a second run, first {}", differing, all, where)};
}

}  // namespace flashproof
