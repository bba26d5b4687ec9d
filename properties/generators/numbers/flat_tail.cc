// One key far above a flat tail of all the others, visited first or last: an attention sink. Each weight of the tail is near
// or below the smallest number of a narrow P (e4m3fn ends 9 octaves below 1, f16 24), together they count: a P that is
// flushed while the sum of weights is not loses them. v of the peak is small, that of the tail has one sign.
#include "properties/generators/build.h"

namespace flashproof::family::flat_tail {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .exact_scale = true});
  Random random = value_stream(spec);
  const std::int64_t n = length_of(problem);
  const std::int64_t dice = random.integer(0, 2);
  const std::int64_t anywhere = random.integer(0, std::max<std::int64_t>(n - 1, 0));
  const std::int64_t peak = dice == 0 ? 0 : dice == 1 ? n - 1 : anywhere;
  const double height = random.uniform(4, 18);
  const double level = random.chance(0.5) ? 0 : random.uniform(-30, 30);
  const double unevenness = random.chance(0.5) ? 0 : 0.5;
  const auto row = [=](Random& r, const LogitSite&, std::span<double> logits) {
    for (std::size_t j = 0; j < logits.size(); ++j) {
      const double off = unevenness * r.uniform(-1, 1);
      logits[j] = static_cast<std::int64_t>(j) == peak ? level + height : level + off;
    }
  };
  put_logits(problem, random, row, {.noise = 0});
  put_values(problem, random, [=](Random& r, std::int64_t key, std::int64_t) {
    const double tail = r.uniform(0.5, 1);
    return key == peak ? pow2(-10) * tail : tail;
  });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::spread, .at_least = 4, .at_most = 19},
                                 {.field = &Difficulty::ties, .at_most = 1},
                                 {.field = &Difficulty::top_gap, .at_least = 0.05},
                                 {.field = &Difficulty::one_signed, .at_least = 1, .only = ProblemKind::merge},
                                 {.field = &Difficulty::one_signed, .at_least = 1, .only = ProblemKind::attention}};

}  // namespace

Family flat_tail() { return {"one key 4 to 18 above a flat tail, first or last", kAll, make, kPromises}; }

}  // namespace flashproof::family::flat_tail
