// Several keys at exactly the maximum of the row, in one chunk and in several, v of one sign: their weights are 1 and come
// out exact, the others are rounded, and a rounding of P in one direction shows as drift. An argument that counts the
// maximum once, or skips a chunk whose maximum is not above the running one, shows too.
#include "properties/generators/build.h"

namespace flashproof::family::duplicate_maxima {
namespace {

constexpr double kLevels[] = {0, 0, 2.5, -7, 40, -60};

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .causal_chance = 0.1, .exact_scale = true});
  Random random = value_stream(spec);
  const double sign = random_sign(random);
  const auto row = [](Random& r, const LogitSite&, std::span<double> logits) {
    const double level = pick(r, kLevels);
    const double share = r.uniform(0.1, 0.9);
    for (double& logit : logits) {
      const double below = r.uniform(0.5, 10);
      logit = r.chance(share) ? level : level - below;
    }
    if (logits.empty()) return;
    // Two at least. The first and the last key are seldom in one chunk.
    logits.front() = level;
    logits.back() = level;
  };
  put_logits(problem, random, row, {.noise = 0});
  put_values(problem, random, [=](Random& r, std::int64_t, std::int64_t) { return sign * r.uniform(0.5, 1); });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::ties, .at_least = 2},
                                 {.field = &Difficulty::one_signed, .at_least = 1, .only = ProblemKind::merge},
                                 {.field = &Difficulty::one_signed, .at_least = 1, .only = ProblemKind::attention}};

}  // namespace

Family duplicate_maxima() {
  return {"several keys at exactly the maximum, v of one sign", kAll, make, kPromises, long_rows};
}

}  // namespace flashproof::family::duplicate_maxima
