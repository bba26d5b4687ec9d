// Scores through c·tanh(s/c): far below the cap, around it, and where all of them saturate and nearly tie.
#include "properties/generators/features.h"

namespace flashproof::family {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem =
      draw_shape(spec, {.causal_chance = 0.2, .ragged_chance = 0.1, .bias_chance = 0.2, .exact_scale = true});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  put_softcap(attention, random);
  constexpr double kDeviations[] = {0.5, 4, 40};
  put_spread(problem, random, pick(random, kDeviations));
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::saturation, .at_least = 0.004},
                                 {.field = &Difficulty::saturation, .at_least = 1, .share = 0.25}};

}  // namespace

Family softcap() {
  return {"softcap", "scores through c*tanh(s/c), from the straight part to saturation", kAttentionOnly, make,
          kPromises};
}

}  // namespace flashproof::family
