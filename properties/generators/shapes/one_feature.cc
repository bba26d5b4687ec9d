// A feature of attention, put into a drawn shape.
#include "properties/generators/features.h"

namespace flashproof::family::one_feature {
namespace {

double usual(Random& /*random*/) { return 2; }

Case with_feature(const CaseSpec& spec, const ShapeWish& wish, void (*put)(AttentionProblem&, Random&),
                  double (*deviation)(Random&) = usual) {
  Problem problem = draw_shape(spec, wish);
  Random random = value_stream(spec);
  put(std::get<AttentionProblem>(problem), random);
  return with_spread(spec, std::move(problem), random, deviation(random));
}

// Sliding windows, alone and under a causal mask, with more and with fewer queries than keys: rows at both ends see few
// keys or none, and most chunks lie outside.
Case make_window(const CaseSpec& spec) {
  return with_feature(spec, {.causal_chance = 0.3, .ragged_chance = 0.2, .bias_chance = 0.2, .exact_scale = true},
                      put_window);
}
constexpr Promise kWindowPromises[] = {{.field = &Difficulty::features, .at_least = 1},
                                       {.field = &Difficulty::hidden_share, .at_least = 0.1, .share = 0.7}};

// Scores through c·tanh(s/c): far below the cap, around it, and where all of them saturate and nearly tie.
Case make_softcap(const CaseSpec& spec) {
  return with_feature(spec, {.causal_chance = 0.2, .ragged_chance = 0.1, .bias_chance = 0.2, .exact_scale = true},
                      put_softcap, [](Random& random) {
                        constexpr double kDeviations[] = {0.5, 4, 40};
                        return pick(random, kDeviations);
                      });
}
constexpr Promise kSoftcapPromises[] = {{.field = &Difficulty::saturation, .at_least = 0.004},
                                        {.field = &Difficulty::saturation, .at_least = 1, .share = 0.25}};

// ALiBi: a bias of minus slope times distance on top of the scores; slopes 0, negative and steep as well. Every second case has
// several sequences, each with slopes of its own.
Case make_alibi(const CaseSpec& spec) {
  Case made =
      with_feature(with_sequences(spec),
                   {.causal_chance = 0.5, .ragged_chance = 0.2, .bias_chance = 0.2, .exact_scale = true}, put_alibi);
  made.spec = spec;
  return made;
}
constexpr Promise kAlibiPromises[] = {{.field = &Difficulty::slope, .at_least = 0.0039, .share = 0.9}};

}  // namespace

Family window() {
  return {"sliding windows of 0 to 100 keys to either side, causal, ragged", kAttentionOnly, make_window,
          kWindowPromises};
}

Family softcap() {
  return {"scores through c*tanh(s/c), from the straight part to saturation", kAttentionOnly, make_softcap,
          kSoftcapPromises};
}

Family alibi() { return {"ALiBi slopes, gentle, steep, 0 and negative", kAttentionOnly, make_alibi, kAlibiPromises}; }

}  // namespace flashproof::family::one_feature
