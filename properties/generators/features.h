// What an attention problem may have beyond the plain form (Feature), drawn into a problem that has its shape.
#pragma once

#include <algorithm>

#include "properties/generators/build.h"

namespace flashproof::family {

/// Every second case has two sequences, and every costly one.
inline CaseSpec with_sequences(CaseSpec spec) {
  if (is_costly(spec) || (in_turn(spec) && spec.seed % 2 == 1)) spec.keys.try_emplace("b", "2");
  return spec;
}

/// One side or both of 0, a few or many keys.
inline void put_window(AttentionProblem& problem, Random& random) {
  constexpr std::int32_t kReach[] = {0, 1, 3, 8, 20, 100};
  const std::int32_t left = pick(random, kReach);
  const std::int32_t right = pick(random, kReach);
  const std::int64_t sides = random.integer(0, 2);
  problem.window_left = sides == 1 ? -1 : left;
  problem.window_right = sides == 2 ? -1 : right;
}

/// Far below the scores, so that all of them saturate, among them, and far above.
inline void put_softcap(AttentionProblem& problem, Random& random) {
  constexpr float kCaps[] = {0.125F, 1, 5, 20, 50, 1000};
  problem.softcap = pick(random, kCaps);
}

/// The geometric slopes of the paper, and now and then 0, a negative or a steep one.
inline void put_alibi(AttentionProblem& problem, Random& random) {
  problem.alibi = Tensor::dense(Format::f32, {problem.sequences(), problem.q_heads()});
  for (std::int64_t s = 0; s < problem.sequences(); ++s) {
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
      const double slope = pow2(-static_cast<int>(random.integer(1, 8)));
      const std::int64_t dice = random.integer(0, 9);
      problem.alibi.set({s, h}, dice == 0 ? 0 : dice == 1 ? -slope : dice == 2 ? 64 * slope : slope);
    }
  }
}

/// Beside the scores, far above or below them, none of a head (−inf); rarely NaN or +inf.
inline void put_sink(AttentionProblem& problem, Random& random, bool specials) {
  problem.sink = Tensor::dense(Format::f32, {problem.q_heads()});
  for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
    const double near = 3 * random.normal();
    const std::int64_t dice = random.integer(0, 19);
    double sink = dice < 12 ? near : dice < 14 ? near + 60 : dice < 16 ? near - 60 : -kInfinity;
    if (specials && dice == 19) sink = random.chance(0.5) ? kInfinity : std::numeric_limits<double>::quiet_NaN();
    problem.sink.set({h}, sink);
  }
}

/// Normal scores of about this deviation, from q and k alone, as a network has them.
inline void put_spread(AttentionProblem& problem, Random& random, double deviation) {
  put_queries(problem, random, query_amplitude(problem, deviation));
  put_keys(problem, random, 1);
}

/// Normal logits of this deviation, the planting left to put_logits().
inline Case with_spread(const CaseSpec& spec, Problem&& problem, Random& random, double deviation) {
  return with_rows(spec, std::move(problem), random, normal_row(deviation), {.noise = 0.5});
}

}  // namespace flashproof::family
