#include "properties/generators/coverage/coverage.h"

#include <fmt/format.h>

namespace flashproof {
namespace {

constexpr ProblemKind kAll[] = {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention};
constexpr ProblemKind kTiled[] = {ProblemKind::softmax, ProblemKind::attention};
constexpr ProblemKind kValues[] = {ProblemKind::merge, ProblemKind::attention};
constexpr ProblemKind kMerge[] = {ProblemKind::merge};
constexpr ProblemKind kAttention[] = {ProblemKind::attention};

using D = const Difficulty&;

// ln FLT_MAX, where e^x overflows f32; from 104 on, e^-x is 0 in it.
constexpr double kLogMax = 88.7228, kLogZero = 104;

#define FP_HAZARD(name, problems, condition) {Hazard::name, #name, problems, [](D d) { return condition; }}
constexpr HazardInfo kList[] = {
    FP_HAZARD(first_tile_masked, kAll, d.first_hidden > 0),
    FP_HAZARD(middle_tile_masked, kAll, d.middle_hidden > 0),
    FP_HAZARD(last_tile_masked, kAll, d.last_hidden > 0),
    FP_HAZARD(row_empty, kAll, d.empty_rows > 0),
    FP_HAZARD(lone_survivor, kAll, d.lone_rows > 0 && d.hidden_share > 0),
    FP_HAZARD(no_rows, kAll, d.rows == 0),
    FP_HAZARD(partial_tile, kTiled, d.partial_tiles > 0),
    FP_HAZARD(length_at_tile_edge, kTiled, d.tile_edges > 0 && d.chunks > 1),
    FP_HAZARD(order_permuted, kAll, d.permuted > 0),
    FP_HAZARD(tree_used, kMerge, d.joins > 0),
    FP_HAZARD(rescale_taken, kAll, d.rescales_taken > 0),
    FP_HAZARD(rescale_skipped, kAll, d.rescales_skipped > 0),
    FP_HAZARD(rise_just_below_threshold, kAll, d.threshold_below < 0.005),
    FP_HAZARD(rise_just_above_threshold, kAll, d.threshold_above < 0.005),
    FP_HAZARD(maximum_never_rises, kAll, d.chunks > 1 && d.first_is_max == 1),
    FP_HAZARD(maximum_rises_often, kAll, d.rises >= 3),
    FP_HAZARD(all_equal, kAll, d.keys > 1 && d.spread == 0),
    FP_HAZARD(ties_at_maximum, kAll, d.ties > 1),
    FP_HAZARD(near_tie, kAll, d.top_gap > 0 && d.top_gap < 1e-6),
    FP_HAZARD(deep_negative, kAll, d.keys > 0 && d.highest_maximum < -kLogMax),
    FP_HAZARD(sentinel_met, kAll, d.sentinel_gap < 0.01),
    FP_HAZARD(row_below_sentinel, kAll, d.below_sentinel > 0),
    FP_HAZARD(sum_overflow_edge, kAll, d.log_sum > kLogMax && d.largest_logit < kLogMax),
    FP_HAZARD(lse_gap_over_88, kAll, d.lse_gap > kLogMax),
    FP_HAZARD(lse_gap_over_104, kAll, d.lse_gap > kLogZero),
    FP_HAZARD(huge_logit, kAll, d.largest_logit > 1e3),
    FP_HAZARD(cancelling_dot, kAttention, d.condition > 1e3),
    FP_HAZARD(cancelling_values, kValues, d.cancellation > 64),
    FP_HAZARD(one_signed_values, kValues, d.one_signed == 1),
    FP_HAZARD(subnormal_value, kAll, d.subnormal_share > 0.01),
    FP_HAZARD(near_max_value, kAll, d.near_max_share > 0),
    FP_HAZARD(visible_nan, kAll, d.visible_nans > 0),
    FP_HAZARD(visible_inf, kAll, d.visible_infs > 0),
    FP_HAZARD(hidden_nan, kAll, d.hidden_nans > 0),
    FP_HAZARD(hidden_inf, kAll, d.hidden_infs > 0),
    FP_HAZARD(padding_present, kAll, d.padding > 0),
    FP_HAZARD(stride_zero, kAll, d.broadcast > 0),
    FP_HAZARD(storage_overlaps, kAll, d.overlap > 0),
    FP_HAZARD(unnormalised_states, kMerge, d.features > (d.joins > 0 ? 1 : 0)),
    FP_HAZARD(group_size_not_1, kAttention, d.group > 1),
    FP_HAZARD(kv_shared, kAttention, d.kv_equal > 0),
    FP_HAZARD(odd_dims, kAttention, d.odd_dims > 0),
    FP_HAZARD(packed_empty_sequence, kAttention, d.empty_sequences > 0),
    FP_HAZARD(partial_page, kAttention, d.partial_pages > 0),
    FP_HAZARD(length_at_page_edge, kAttention, d.page_size > 1 && d.page_edges == 1),
    FP_HAZARD(shared_page, kAttention, d.shared_pages > 0),
    FP_HAZARD(moved_page, kAttention, d.moved_pages > 0),
    FP_HAZARD(sink_with_empty_first_split, kAttention, d.sink_beside_empty > 0),
    FP_HAZARD(softcap_saturated, kAttention, d.saturation > 3),
    FP_HAZARD(steep_slope, kAttention, d.slope > 1),
    FP_HAZARD(descaled, kAttention, d.descale > 0),
    FP_HAZARD(eight_bit_keys, kAttention, d.least_bits == 8),
    FP_HAZARD(features_combined, kAttention, d.features > 2),
};
#undef FP_HAZARD
static_assert(std::size(kList) == kHazards);

}  // namespace

bool HazardInfo::applies(ProblemKind problem) const {
  for (const ProblemKind known : problems) {
    if (known == problem) return true;
  }
  return false;
}

std::span<const HazardInfo> hazards() { return kList; }

void Coverage::add(const Case& made) {
  const Difficulty measured = difficulty(made.problem);
  auto& counts = cases[static_cast<std::size_t>(kind_of(made.problem))];
  for (const HazardInfo& info : hazards()) {
    counts[static_cast<std::size_t>(info.hazard)] += info.applies(kind_of(made.problem)) && info.present(measured);
  }
}

Coverage& Coverage::operator+=(const Coverage& other) {
  for (std::size_t p = 0; p < cases.size(); ++p) {
    for (std::size_t h = 0; h < kHazards; ++h) cases[p][h] += other.cases[p][h];
  }
  return *this;
}

std::string to_text(const Coverage& coverage) {
  std::string text =
      fmt::format("{:<28} {:>8} {:>8} {:>9}\n", "cases with the hazard", "softmax", "merge", "attention");
  for (const HazardInfo& info : hazards()) {
    const auto cell = [&](ProblemKind problem) {
      return info.applies(problem) ? std::to_string(coverage.count(problem, info.hazard)) : "-";
    };
    text += fmt::format("{:<28} {:>8} {:>8} {:>9}\n", info.name, cell(ProblemKind::softmax), cell(ProblemKind::merge),
                        cell(ProblemKind::attention));
  }
  return text;
}

}  // namespace flashproof
