// Every second key stands 8 above its neighbours.
#include "properties/generators/build.h"

namespace flashproof::family {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .exact_scale = true});
  Random random = value_stream(spec);
  const auto row = [](Random& r, const LogitSite&, std::span<double> logits) {
    for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = (j % 2 == 0 ? 8 : 0) + r.uniform(-1, 1);
  };
  put_logits(problem, random, row, {.noise = 0});
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::spread, .at_least = 5, .at_most = 11}};

}  // namespace

Family alternating() { return {"alternating", "every second key 8 above its neighbours", kAll, make, kPromises}; }

}  // namespace flashproof::family
