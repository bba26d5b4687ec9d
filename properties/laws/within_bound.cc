// Every finite answer lies within the bound that the kernel's declared arithmetic promises, through the output
// rounding (reference/error/judge.h). Elements of the wrong class are another law's and are left out here.
#include "properties/laws/list.h"
#include "properties/laws/scan.h"

namespace flashproof {
namespace {

constexpr Failure kMine[] = {Failure::exceeds_bound, Failure::silently_wrong};
constexpr std::string_view kTeeth[] = {"merge.broken.misprinted_lse", "attention.broken.accumulator_not_rescaled"};

Verdict check(const Evaluation& e) {
  if (failure_count(e.judgement, kMine) != 0) return failing_element(e, kMine);

  auto counts = verdict_counts(e.judgement);
  const bool any_failed = counts[static_cast<std::size_t>(VerdictKind::fail)] != 0;
  counts[static_cast<std::size_t>(VerdictKind::fail)] = 0;
  // No elements at all is a success; nothing but elements of the wrong class has measured nothing.
  const VerdictKind kind = combine(counts, any_failed ? VerdictKind::vacuous : VerdictKind::pass);
  if (kind == VerdictKind::pass) return {};
  std::string detail = detail_of_first(e, kind);
  if (detail.empty()) detail = "no element has the class of its exact result";
  return {kind, Failure::none, std::move(detail)};
}

}  // namespace

Law within_bound() {
  return {"within_bound", "every finite result lies within its a-priori bound, through the output rounding", check,
          kTeeth};
}

}  // namespace flashproof
