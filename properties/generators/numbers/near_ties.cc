// Two keys share the row and their v are opposite: o is the difference of two weights near 1/2, sum p |v - o| is as large as
// it can be, and an error of a logit goes straight into the answer. Their logits are equal or one or two spacings of their
// format apart; the other keys are far below.
#include "properties/generators/build.h"

namespace flashproof::family::near_ties {
namespace {

constexpr double kLevels[] = {0.5, -0.5, 1, 3, -11, 30, -50, 80, 1000.5};

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .exact_scale = true});
  turn_scale(spec, problem);
  Random random = value_stream(spec);
  const std::int64_t n = length_of(problem);
  const std::int64_t one = random.integer(0, std::max<std::int64_t>(n - 1, 0));
  const std::int64_t other = n < 2 ? one : (one + random.integer(1, n - 1)) % n;
  const double level = pick(random, kLevels);
  const double depth = random.uniform(12, 60);
  const double size = magnitude(random, -3, 10);

  const auto row = [=](Random& r, const LogitSite& site, std::span<double> logits) {
    for (double& logit : logits) logit = level - depth - r.uniform(0, 4);
    if (logits.empty()) return;
    const double unit = spacing(level, site.precision);
    logits[static_cast<std::size_t>(one)] = level;
    logits[static_cast<std::size_t>(other)] = level + unit * static_cast<double>(r.integer(-2, 2));
  };
  put_logits(problem, random, row, {.noise = 0});
  put_values(problem, random, [=](Random& r, std::int64_t key, std::int64_t column) {
    const double small = size * r.normal();
    const double sign = column % 2 == 0 ? 1 : -1;
    return key == one ? sign * size : key == other ? -sign * size : small;
  });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {
    {.field = &Difficulty::top_gap, .at_most = 0.01, .share = 0.9},
    {.field = &Difficulty::cancellation, .at_least = 16, .share = 0.8, .only = ProblemKind::merge},
    {.field = &Difficulty::cancellation, .at_least = 16, .share = 0.8, .only = ProblemKind::attention}};

}  // namespace

Family near_ties() {
  return {"two keys with logits 0 to 2 spacings apart and opposite v", kAll, make, kPromises, long_rows};
}

}  // namespace flashproof::family::near_ties
