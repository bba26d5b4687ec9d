// ALiBi: a bias of minus slope times distance on top of the scores; slopes 0, negative and steep as well.
#include "properties/generators/features.h"

namespace flashproof::family {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem =
      draw_shape(spec, {.causal_chance = 0.5, .ragged_chance = 0.2, .bias_chance = 0.2, .exact_scale = true});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  put_alibi(attention, random);
  put_spread(problem, random, 2);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::slope, .at_least = 0.0039, .share = 0.9}};

}  // namespace

Family alibi() { return {"alibi", "ALiBi slopes, gentle, steep, 0 and negative", kAttentionOnly, make, kPromises}; }

}  // namespace flashproof::family
