// NaN, ±inf and finite appear exactly where the semantics say (reference/problem/README.md): an empty row is 0 and
// −inf, a NaN that a row or a pair sees is not laundered into a number, a finite answer is not NaN. How accurate a finite answer
// is does not matter here, so this law needs no bound to be tight.
#include "properties/laws/law.h"
#include "properties/laws/support/scan.h"

namespace flashproof::law::class_matches_semantics {
namespace {

constexpr Failure kMine[] = {Failure::class_mismatch, Failure::laundering};
constexpr std::string_view kTeeth[] = {"softmax.broken.no_empty_guard", "merge.broken.columns_from_256_left",
                                       "merge.broken.row_of_16_bits",
                                       "attention_backward.broken.nan_row_sum_taken_for_zero"};

/// An undecided element concerns the class only if it is not finite: the truth straddles the end of the format's range.
bool class_undecided(const Evaluation& e) {
  for (const Part part : parts_of(e.output)) {
    for (std::int64_t i = 0; i < count(e.truth, part); ++i) {
      const Element element = e.element(part, i);
      if (class_of(element.computed) == kFinite) continue;
      if (decide(element, e.kernel.contract).kind == VerdictKind::inconclusive) return true;
    }
  }
  return false;
}

/// Elements that the kernel declares nothing of: every class passes.
std::uint64_t undeclared(const Evaluation& e) {
  std::uint64_t n = 0;
  for (const Part part : parts_of(e.output)) {
    if (!returned(e.kernel.contract, part)) continue;
    for (std::size_t i = 0; i < e.truth[part].size(); ++i) n += e.truth[part][i].classes == kUnspecified ? 1 : 0;
  }
  return n;
}

Verdict check(const Evaluation& e) {
  if (failure_count(e.judgement, kMine) != 0) return failing_element(e, kMine);

  const std::uint64_t all = element_count(e.judgement);
  if (all == 0) return kNoElement.verdict();
  const auto counts = verdict_counts(e.judgement);
  const auto of = [&](VerdictKind kind) { return counts[static_cast<std::size_t>(kind)]; };
  if (of(VerdictKind::inconclusive) != 0 && class_undecided(e)) {
    return {VerdictKind::inconclusive, Failure::none, "the truth straddles the end of the format's range"};
  }
  // Out of domain a finite answer may be inf or NaN: where most elements are, hardly a class was asked for.
  const std::uint64_t free = of(VerdictKind::out_of_domain);
  if (free != 0 && static_cast<double>(all - free) < kLeastDecided * static_cast<double>(all)) {
    return {VerdictKind::out_of_domain, Failure::none, detail_of_first(e, VerdictKind::out_of_domain)};
  }
  const std::uint64_t any = undeclared(e);
  if (any != 0 && static_cast<double>(all - free - any) < kLeastDecided * static_cast<double>(all)) {
    return vacuous("the kernel declares nothing of most elements");
  }
  // A bound that reaches infinity allows any class: where nothing finite came of it, none was asked for.
  const std::uint64_t blunt = of(VerdictKind::vacuous);
  std::uint64_t finite = 0;
  for (const Part part : parts_of(e.output)) finite += e.judgement[part].classes[0];
  if (blunt != 0 && finite == 0 && blunt == all) return vacuous(detail_of_first(e, VerdictKind::vacuous));
  return {};
}

}  // namespace

Law class_matches_semantics() {
  return {
      .summary = "NaN, inf and finite appear exactly where the semantics say", .must_reject = kTeeth, .judge = check};
}

}  // namespace flashproof::law::class_matches_semantics
