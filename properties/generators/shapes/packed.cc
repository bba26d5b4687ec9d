// Sequences of unequal lengths in one tensor, some without queries, some without keys: nothing of a neighbour may show,
// and causal is aligned in each on its own.
#include "properties/generators/features.h"

namespace flashproof::family::packed {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.causal_chance = 0.5, .ragged_chance = 0.2, .exact_scale = true, .packed = true});
  Random random = value_stream(spec);
  return with_spread(spec, std::move(problem), random, 2);
}

constexpr Promise kPromises[] = {{.field = &Difficulty::sequences, .at_least = 2},
                                 {.field = &Difficulty::empty_sequences, .at_least = 1, .share = 0.3}};

}  // namespace

Family packed() {
  return {"packed sequences of unequal lengths, empty ones among them", kAttentionOnly, make, kPromises};
}

}  // namespace flashproof::family::packed
