// Rows whose logits are all far below 0, on both sides of the numbers that kernels use for minus infinity: -1e4, -5e4
// (met in served models), -1e9, -1e30. exp of them is 0 without the shift by the maximum, and a running maximum that
// starts at a sentinel never sees them.
#include "properties/generators/build.h"

namespace flashproof::family::deep_negative {
namespace {

constexpr double kLevels[] = {89.5, 90,     95,     100, 104, 110,   1e3,   9.9e3, 1.01e4,
                              3e4,  4.95e4, 5.05e4, 1e5, 1e6, 0.9e9, 1.1e9, 1e31};

Case make(const CaseSpec& spec) {
  const auto row = [](Random& r, const LogitSite& site, std::span<double> logits) {
    double level = pick(r, kLevels);
    while (level > 0.9 * site.max_logit) level = pick(r, kLevels);
    const bool by_spacing = r.chance(0.5);
    // 0..4 below the level, or 0..3 spacings where those are wider: else the large levels would have one value only.
    const double unit = std::max(by_spacing ? spacing(level, site.precision) : 0.0, pow2(-10));
    for (double& logit : logits) {
      const double below = by_spacing ? unit * static_cast<double>(r.integer(0, 3)) : r.uniform(0, 4);
      logit = -level - below;
    }
  };
  return with_rows(spec, {.ragged_chance = 0.1, .exact_scale = true}, row);
}

constexpr Promise kPromises[] = {{.field = &Difficulty::highest_maximum, .at_most = -89}};

}  // namespace

Family deep_negative() {
  return {"whole rows at -89 ... -1e6, on both sides of usual sentinels", kAll, make, kPromises};
}

}  // namespace flashproof::family::deep_negative
