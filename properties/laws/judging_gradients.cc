#include "properties/laws/judging_gradients.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "kernels/run.h"
#include "properties/laws/gradient_list.h"

namespace flashproof {
namespace {

constexpr std::string_view kBoundTeeth[] = {"attention_backward.broken.delta_not_subtracted",
                                            "attention_backward.broken.value_columns_beyond_128",
                                            "attention_backward.broken.group_of_four_heads"};
constexpr std::string_view kWrittenTeeth[] = {"attention_backward.broken.unseen_not_written"};

Verdict within_bound(const Evaluation& e) {
  Verdict verdict = gradients_within_bound(e.judgement);
  return e.power == nullptr ? verdict : require_power(std::move(verdict), *e.power);
}
Verdict fully_written(const Evaluation& e) { return gradients_fully_written(e.output, e.truth, e.bound); }

}  // namespace

Law gradient_within_bound() {
  return {.name = "gradient_within_bound",
          .summary = "every element of dq, dk and dv has the right class and lies within its a-priori bound",
          .judge = within_bound,
          .promised = [](const Contract&) { return true; },
          .must_reject = kBoundTeeth};
}

Law gradient_fully_written() {
  return {.name = "gradient_fully_written",
          .summary = "every element of dq, dk and dv is stored",
          .judge = fully_written,
          .promised = [](const Contract&) { return true; },
          .must_reject = kWrittenTeeth};
}

Verdict gradients_within_bound(const Judgement& judgement) {
  std::uint64_t elements = 0, finite = 0;
  for (const Part part : kGradientParts) {
    elements += judgement[part].elements;
    finite += judgement[part].finite_elements;
  }
  if (judgement.worst.kind == VerdictKind::pass && elements > 0 && finite == 0) {
    return {VerdictKind::vacuous, Failure::none, "no element has a finite exact and a finite computed value"};
  }
  return judgement.worst;
}

Verdict gradients_fully_written(const Output& output, const Truth& truth, const Bound& bound) {
  std::string first;
  std::int64_t unwritten = 0, all = 0;
  for (const Part part : kGradientParts) {
    const Tensor& tensor = output[part];
    const std::uint64_t poison = poison_bits(tensor.format);
    all += tensor.elements();
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (tensor.bits(i) != poison) continue;
      if (++unwritten == 1) first = describe(element_at(output, truth, bound, part, i));
    }
  }
  if (unwritten == 0) return {};
  return {VerdictKind::fail, Failure::unwritten,
          fmt::format("{} of {} elements were never written, first {}", unwritten, all, first)};
}

Verdict gradients_have_the_same_bits(const Output& first, const Output& again) {
  std::int64_t differing = 0, all = 0;
  std::string where;
  for (const Part part : kGradientParts) {
    const Tensor& a = first[part];
    const Tensor& b = again[part];
    all += a.elements();
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      if (a.bits(i) == b.bits(i)) continue;
      if (++differing == 1)
        where =
            fmt::format("{}[{}]: {} and {}", name(part), i, decode(a.format, a.bits(i)), decode(b.format, b.bits(i)));
    }
  }
  if (differing == 0) return {};
  return {VerdictKind::fail, Failure::nondeterministic,
          fmt::format("{} of {} elements have other bits in a second run, first {}", differing, all, where)};
}

}  // namespace flashproof
