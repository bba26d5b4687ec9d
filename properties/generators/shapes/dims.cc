// Head and value dimensions that are odd, unequal, at and beside multiples of a vector or a warp, and the large ones of
// multi-head latent attention (192/128, 576/512), over few keys.
#include "properties/generators/features.h"

namespace flashproof::family::dims {
namespace {

struct Dims {
  std::int64_t d, dv;
};
constexpr Dims kDims[] = {{1, 1},   {1, 64},  {2, 3},     {3, 2},     {5, 7},     {31, 33},   {33, 31},
                          {63, 65}, {96, 80}, {127, 129}, {129, 127}, {160, 160}, {192, 128}, {192, 128},
                          {255, 1}, {1, 255}, {256, 256}, {257, 255}, {576, 512}, {576, 512}};
constexpr std::int64_t kKeys[] = {1, 2, 3, 7, 8, 9, 11};
constexpr std::int64_t kQueries[] = {1, 2, 3};

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const Dims dims = pick(random, kDims);
  const std::int64_t keys = pick(random, kKeys);
  const std::int64_t queries = dims.d > 256 ? 1 : pick(random, kQueries);
  Problem problem = draw_shape(spec, {.rows = queries,
                                      .length = keys,
                                      .chunk = random.chance(0.5) ? 4 : 8,
                                      .causal_chance = 0.2,
                                      .exact_scale = true,
                                      .head_dim = dims.d,
                                      .value_dim = dims.dv,
                                      .q_heads = 1,
                                      .k_heads = 1});
  return with_spread(spec, std::move(problem), random, 2);
}

constexpr Promise kPromises[] = {{.field = &Difficulty::odd_dims, .at_least = 1, .share = 0.8}};

}  // namespace

Family dims() { return {"d and dv from 1 to 576, odd and unequal, few keys", kAttentionOnly, make, kPromises}; }

}  // namespace flashproof::family::dims
