// States (m, l, O) of a merge before the last division, l over many octaves beside m over many nats, so that the largest m
// need not have the largest weight. Some have no weight: l = 0 under any m, which must raise no maximum, or m = -inf
// with any l; their O is poison. One case of three has a tree.
#include "properties/generators/build.h"
#include "properties/generators/joins.h"

namespace flashproof::family::unnormalised {
namespace {

double sum_of_weights(Random& random, int octaves) {
  const double l = magnitude(random, -octaves, octaves);
  return random.chance(0.2) ? 1 : l;
}

void put_sums(MergeProblem& problem, Random& random, double empty, int octaves) {
  problem.l = Tensor::strided(Format::f32, problem.lse.shape, problem.lse.stride);
  for (std::int64_t c = 0; c < problem.l.shape[0]; ++c) {
    for (std::int64_t r = 0; r < problem.l.shape[1]; ++r) {
      const double l = sum_of_weights(random, octaves);
      const bool weightless = random.chance(empty);
      if (problem.lse.at({c, r}) == -kInfinity) continue;  // its l stays poison
      problem.l.set({c, r}, weightless ? 0 : l);
    }
  }
}

// O is near l times a value of size 1; what is no state stays poison.
void put_accumulators(MergeProblem& problem, Random& random) {
  for (std::int64_t c = 0; c < problem.o.shape[0]; ++c) {
    for (std::int64_t r = 0; r < problem.o.shape[1]; ++r) {
      const double l = problem.lse.at({c, r}) == -kInfinity ? 0 : problem.l.at({c, r});
      for (std::int64_t t = 0; t < problem.o.shape[2]; ++t) {
        const double value = l * random.normal();
        if (l > 0) problem.o.set({c, r, t}, clamp_to(problem.o.format, value));
      }
    }
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {});
  Random random = value_stream(spec);
  auto& merge = std::get<MergeProblem>(problem);
  const double deviation = random.uniform(0, 30);
  const double offset = random.uniform(-200, 200);
  const bool some_empty = random.chance(0.5);
  const double empty = some_empty ? random.uniform(0.1, 0.6) : 0;
  // f16 holds O from 2^-24 to 2^16.
  const auto octaves = static_cast<int>(random.integer(0, 12));
  put_logits(problem, random, [=](Random& r, const LogitSite&, std::span<double> logits) {
    for (double& m : logits) {
      const double number = offset + deviation * r.normal();
      m = r.chance(empty / 2) ? -kInfinity : number;
    }
  });
  put_sums(merge, random, empty, octaves);
  put_accumulators(merge, random);
  if (spec.seed % 3 == 0) {
    merge.joins = draw_joins(random, static_cast<int>(merge.order.size()), static_cast<TreeShape>(spec.seed / 3 % 3));
  }
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::features, .at_least = 1},
                                 {.field = &Difficulty::spread, .at_least = 5, .share = 0.6},
                                 {.field = &Difficulty::hidden_share, .at_least = 0.1, .share = 0.3}};

}  // namespace

Family unnormalised() {
  return {"states (m, l, O): l over many octaves, l = 0, m = -inf, poison in O", kMergeOnly, make, kPromises};
}

}  // namespace flashproof::family::unnormalised
