// Every finite answer lies within the bound that the kernel's declared arithmetic promises, through the output
// rounding (reference/error/judge.h). Elements of the wrong class are another law's and are left out here.
#include "properties/laws/law.h"
#include "properties/laws/support/scan.h"

namespace flashproof::law::within_bound {
namespace {

constexpr Failure kMine[] = {Failure::exceeds_bound, Failure::silently_wrong};
constexpr std::string_view kTeeth[] = {"attention.broken.short_polynomial",
                                       "softmax.broken.sum_overflow_not_refused",
                                       "attention.broken.causal_tile_whole_early",
                                       "merge.broken.misprinted_lse",
                                       "attention.broken.accumulator_not_rescaled",
                                       "attention.broken.remainder_lost_in_many_tiles",
                                       "attention.broken.descale_of_query_head",
                                       "attention.broken.small_scale_flushed",
                                       "attention.broken.long_chunk_cut",
                                       "attention.broken.wide_values_in_reverse",
                                       "attention_backward.broken.delta_not_subtracted",
                                       "attention_backward.broken.value_columns_beyond_128",
                                       "attention_backward.broken.group_of_four_heads"};

Verdict check(const Evaluation& e) {
  if (failure_count(e.judgement, kMine) != 0) return failing_element(e, kMine);

  if (element_count(e.judgement) == 0) return kNoElement.verdict();
  auto counts = verdict_counts(e.judgement);
  counts[static_cast<std::size_t>(VerdictKind::fail)] = 0;
  // Nothing but NaN and inf, right or wrong, has measured nothing.
  std::uint64_t finite = 0;
  for (const Part part : parts_of(e.output)) finite += e.judgement[part].finite_elements;
  const std::uint64_t undecided = counts[static_cast<std::size_t>(VerdictKind::inconclusive)] +
                                  counts[static_cast<std::size_t>(VerdictKind::out_of_domain)];
  if (finite == 0 && undecided == 0) return vacuous("no element has a finite exact and a finite computed value");
  const VerdictKind kind = combine(counts, VerdictKind::vacuous);
  if (kind == VerdictKind::pass) return e.power == nullptr ? Verdict{} : require_power({}, *e.power);
  return {kind, Failure::none, detail_of_first(e, kind)};
}

}  // namespace

Law within_bound() {
  return {.summary = "every finite result lies within its a-priori bound, through the output rounding",
          .must_reject = kTeeth,
          .judge = check};
}

}  // namespace flashproof::law::within_bound
