// Normal logits of standard deviation 0.1 to 8, one value per seed: nearly uniform weights at one end, one key for the row
// at the other, and in between those where a lazy rescale is skipped often and P has its widest use of a narrow format.
// Attention gets them from q and k as a network would, all components at work.
#include "properties/generators/features.h"

namespace flashproof::family::logit_spread {
namespace {

constexpr double kDeviations[] = {0.1, 0.2, 0.35, 0.5, 0.8, 1, 1.5, 2, 3, 4, 6, 8};

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.causal_chance = 0.2, .exact_scale = true});
  Random random = value_stream(spec);
  const double deviation = kDeviations[spec.seed % std::size(kDeviations)];
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    put_spread(*attention, random, deviation);
  } else {
    put_logits(problem, random, normal_row(deviation));
  }
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::deviation, .at_most = 9},
                                 {.field = &Difficulty::deviation, .at_least = 4.5, .share = 0.05},
                                 {.field = &Difficulty::deviation, .at_least = 0.05, .at_most = 0.15, .share = 0.06}};

}  // namespace

Family logit_spread() {
  return {"normal logits of deviation 0.1 to 8, one per seed", kAll, make, kPromises, long_rows};
}

}  // namespace flashproof::family::logit_spread
