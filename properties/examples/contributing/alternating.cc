// Every second key stands 8 above its neighbours.
#include "properties/generators/build.h"

namespace flashproof::family::alternating {
namespace {

Case make(const CaseSpec& spec) {
  const auto row = [](Random& r, const LogitSite&, std::span<double> logits) {
    for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = (j % 2 == 0 ? 8 : 0) + r.uniform(-1, 1);
  };
  return with_rows(spec, {.min_length = 2, .exact_scale = true}, row, {.noise = 0});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::spread, .at_least = 5, .at_most = 11}};

}  // namespace

Family alternating() { return {"every second key 8 above its neighbours", kAll, make, kPromises}; }

}  // namespace flashproof::family::alternating
