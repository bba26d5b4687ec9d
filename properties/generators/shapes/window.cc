// Sliding windows, alone and under a causal mask, with more and with fewer queries than keys: rows at both ends see few
// keys or none, and most chunks lie outside.
#include "properties/generators/features.h"

namespace flashproof::family {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem =
      draw_shape(spec, {.causal_chance = 0.3, .ragged_chance = 0.2, .bias_chance = 0.2, .exact_scale = true});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  put_window(attention, random);
  put_spread(problem, random, 2);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::features, .at_least = 1},
                                 {.field = &Difficulty::hidden_share, .at_least = 0.1, .share = 0.7}};

}  // namespace

Family window() {
  return {"window", "sliding windows of 0 to 100 keys to either side, causal, ragged", kAttentionOnly, make, kPromises};
}

}  // namespace flashproof::family
