#include "properties/generators/difficulty/difficulty.h"

#include <vector>

#include "properties/generators/difficulty/difficulty_parts.h"

namespace flashproof {

Difficulty difficulty(const Problem& problem) {
  const std::vector<ScoreRow> rows = rows_of(problem);
  Difficulty result;
  measure_rows(rows, result);
  measure_storage(problem, rows, result);
  return result;
}

#define FP_FIELD(name) {#name, &Difficulty::name}
std::span<const DifficultyField> difficulty_fields() {
  static constexpr DifficultyField kFields[] = {
      FP_FIELD(rows),
      FP_FIELD(keys),
      FP_FIELD(hidden_share),
      FP_FIELD(empty_rows),
      FP_FIELD(lone_rows),
      FP_FIELD(first_hidden),
      FP_FIELD(middle_hidden),
      FP_FIELD(last_hidden),
      FP_FIELD(partial_tiles),
      FP_FIELD(tile_edges),
      FP_FIELD(spread),
      FP_FIELD(deviation),
      FP_FIELD(largest_logit),
      FP_FIELD(highest_maximum),
      FP_FIELD(log_sum),
      FP_FIELD(ties),
      FP_FIELD(top_gap),
      FP_FIELD(sentinel_gap),
      FP_FIELD(below_sentinel),
      FP_FIELD(saturation),
      FP_FIELD(block_spread),
      FP_FIELD(rises),
      FP_FIELD(rising_keys),
      FP_FIELD(first_is_max),
      FP_FIELD(rescales_taken),
      FP_FIELD(rescales_skipped),
      FP_FIELD(threshold_below),
      FP_FIELD(threshold_above),
      FP_FIELD(lse_gap),
      FP_FIELD(condition),
      FP_FIELD(cancellation),
      FP_FIELD(one_signed),
      FP_FIELD(subnormal_share),
      FP_FIELD(near_max_share),
      FP_FIELD(visible_nans),
      FP_FIELD(visible_infs),
      FP_FIELD(hidden_nans),
      FP_FIELD(hidden_infs),
      FP_FIELD(chunks),
      FP_FIELD(permuted),
      FP_FIELD(joins),
      FP_FIELD(group),
      FP_FIELD(sequences),
      FP_FIELD(empty_sequences),
      FP_FIELD(page_size),
      FP_FIELD(partial_pages),
      FP_FIELD(page_edges),
      FP_FIELD(shared_pages),
      FP_FIELD(moved_pages),
      FP_FIELD(padding),
      FP_FIELD(broadcast),
      FP_FIELD(overlap),
      FP_FIELD(kv_equal),
      FP_FIELD(features),
      FP_FIELD(slope),
      FP_FIELD(sinks),
      FP_FIELD(sink_beside_empty),
      FP_FIELD(descale),
      FP_FIELD(least_bits),
      FP_FIELD(odd_dims),
  };
  return kFields;
}
#undef FP_FIELD

}  // namespace flashproof
