// Groups of query heads that share a kv head: groups of 7 (no power of two), one kv head for all, several groups.
#include "properties/generators/features.h"

namespace flashproof::family::gqa {
namespace {

struct Group {
  std::int64_t hq, hk;
};
constexpr Group kGroups[] = {{7, 1}, {14, 2}, {4, 1}, {8, 2}, {3, 1}, {6, 3}};
constexpr std::int64_t kKeys[] = {1, 5, 8, 9, 17, 24, 31, 32, 33};
constexpr std::int64_t kQueries[] = {1, 1, 2, 3};
constexpr std::int64_t kWidths[] = {4, 8, 16};

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const Group group = pick(random, kGroups);
  const std::int64_t width = pick(random, kWidths);
  Problem problem = draw_shape(spec, {.rows = pick(random, kQueries),
                                      .length = pick(random, kKeys),
                                      .causal_chance = 0.3,
                                      .ragged_chance = 0.2,
                                      .bias_chance = 0.2,
                                      .exact_scale = true,
                                      .head_dim = width,
                                      .value_dim = width,
                                      .q_heads = group.hq,
                                      .k_heads = group.hk});
  return with_spread(spec, std::move(problem), random, 2);
}

constexpr Promise kPromises[] = {{.field = &Difficulty::group, .at_least = 2}};

}  // namespace

Family gqa() { return {"groups of 7 and others, one kv head for all", kAttentionOnly, make, kPromises}; }

}  // namespace flashproof::family::gqa
