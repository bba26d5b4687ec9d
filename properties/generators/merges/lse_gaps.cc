// One merge that meets every edge of e^{difference} in one fold: from one state to the next lse stays equal or moves up
// or down by 17 (below which 1 + e rounds to 1), 87 (the last normal weight), 88.72 (the last finite one), 104 (the last
// subnormal one), 10^6 or 10^30; -inf in between. (overflow_edge has one gap from one base; huge one size for all.)
#include "properties/generators/build.h"

namespace flashproof::family::lse_gaps {
namespace {

constexpr double kSteps[] = {0, 0, 0.5, 16.7, 17.4, 87, 87.4, 88, 88.7, 88.75, 89, 103.2, 104, 105};
constexpr double kFarSteps[] = {1e3, 1e6, 1e30};

void walk_row(Random& random, std::span<double> logits, double far) {
  double lse = random.uniform(-50, 50);
  for (double& logit : logits) {
    const double near_step = pick(random, kSteps);
    const double far_step = pick(random, kFarSteps);
    const double sign = random_sign(random);
    const bool is_far = random.chance(far);
    const bool empty = random.chance(0.15);
    lse += sign * (is_far ? far_step : near_step);
    logit = empty ? -kInfinity : lse;
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2});
  Random random = value_stream(spec);
  const double far = random.chance(0.3) ? 0.2 : 0;
  // In visiting order, so that a fold meets the gaps as they were drawn.
  return with_rows(spec, std::move(problem), random, [=](Random& r, const LogitSite& site, std::span<double> logits) {
    std::vector<double> visited(logits.size());
    walk_row(r, visited, far);
    for (std::size_t k = 0; k < visited.size(); ++k) {
      logits[static_cast<std::size_t>(site.plan.order[k])] = visited[k];
    }
  });
}

constexpr Promise kPromises[] = {{.field = &Difficulty::lse_gap, .at_least = 16, .share = 0.7}};

}  // namespace

Family lse_gaps() {
  return {"lse from state to state: equal, 17, 87, 88.7, 104, 10^30 apart, up and down, -inf", kMergeOnly, make,
          kPromises};
}

}  // namespace flashproof::family::lse_gaps
