// Which hazards a set of cases reaches: each is declared here by name and counted from the difficulty of a case, so that a
// generator that has lost one shows as a count of 0 and not as silence.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "properties/generators/difficulty/difficulty.h"
#include "reference/problem/case.h"

namespace flashproof {

enum class Hazard : std::uint8_t {
  // masks and lengths
  first_tile_masked,
  middle_tile_masked,
  last_tile_masked,
  row_empty,
  lone_survivor,
  no_rows,
  partial_tile,
  length_at_tile_edge,
  // the order of the visit
  order_permuted,
  tree_used,
  rescale_taken,
  rescale_skipped,
  rise_just_below_threshold,
  rise_just_above_threshold,
  maximum_never_rises,
  maximum_rises_often,
  // logits
  all_equal,
  ties_at_maximum,
  near_tie,
  deep_negative,
  sentinel_met,
  row_below_sentinel,
  sum_overflow_edge,
  lse_gap_over_88,
  lse_gap_over_104,
  huge_logit,
  // values and stored numbers
  cancelling_dot,
  cancelling_values,
  one_signed_values,
  subnormal_value,
  near_max_value,
  visible_nan,
  visible_inf,
  hidden_nan,
  hidden_inf,
  // shapes and features
  padding_present,
  stride_zero,
  storage_overlaps,
  unnormalised_states,
  group_size_not_1,
  kv_shared,
  odd_dims,
  packed_empty_sequence,
  partial_page,
  length_at_page_edge,
  shared_page,
  moved_page,
  sink_with_empty_first_split,
  softcap_saturated,
  steep_slope,
  descaled,
  eight_bit_keys,
  features_combined,
};
inline constexpr std::size_t kHazards = static_cast<std::size_t>(Hazard::features_combined) + 1;

struct HazardInfo {
  Hazard hazard;
  std::string_view name;
  std::span<const ProblemKind> problems;  // for which it can occur
  bool (*present)(const Difficulty& measured);

  bool applies(ProblemKind problem) const;
};
/// In the order of Hazard.
std::span<const HazardInfo> hazards();

/// Cases with the hazard, by problem.
struct Coverage {
  std::array<std::array<std::uint64_t, kHazards>, 3> cases{};

  void add(const Case& made);
  Coverage& operator+=(const Coverage& other);
  std::uint64_t count(ProblemKind problem, Hazard hazard) const {
    return cases[static_cast<std::size_t>(problem)][static_cast<std::size_t>(hazard)];
  }
};

/// A line per hazard: name and the counts of softmax, merge and attention, "-" where it cannot occur.
std::string to_text(const Coverage& coverage);

}  // namespace flashproof
