// v of one sign: nothing cancels, so a biased rounding of weights or sums drifts in one direction and adds up, where a
// v of mean 0 hides it. Part of the cases have v = 1, of which the answer is exactly 1 (and 0 in rows without a key).
#include "properties/generators/build.h"

namespace flashproof::family::one_signed_v {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.causal_chance = 0.2, .ragged_chance = 0.2, .exact_scale = true});
  Random random = value_stream(spec);
  const bool ones = random.chance(0.25);
  const double deviation = random.uniform(0.1, 3);
  const double sign = random_sign(random);
  put_logits(problem, random, normal_row(deviation), {.noise = 0.25});
  put_values(problem, random, [=](Random& r, std::int64_t, std::int64_t) {
    const double value = sign * r.uniform(0.5, 1);
    return ones ? 1.0 : value;
  });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::one_signed, .at_least = 1, .share = 0.7}};

}  // namespace

Family one_signed_v() {
  return {"v of one sign: a biased rounding drifts and is not hidden", kWithValues, make, kPromises};
}

}  // namespace flashproof::family::one_signed_v
