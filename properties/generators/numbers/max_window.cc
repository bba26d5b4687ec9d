// Rows whose maxima stand at −110 … 110, most of them where e^{−m} alone is subnormal, 0 or infinite: forms that take it
// on its own are silently wrong from some 95 on, NaN beyond 104 and below −88 (laws/test/published_test.cc). Several chunks, and a
// maximum that rises by less than 1 between them, so that the factor between two such exponentials counts.
#include "properties/generators/features.h"

namespace flashproof::family::max_window {
namespace {

constexpr double kLevels[] = {-110, -104, -95, -89, -88.5, -87, -60, 60,  87,    88,    90,
                              93,   95,   97,  99,  100,   101, 102, 103, 103.5, 104.5, 110};

Case make(const CaseSpec& spec) {
  const auto row = [](Random& r, const LogitSite&, std::span<double> logits) {
    const double level = pick(r, kLevels);
    for (double& logit : logits) logit = level - r.uniform(0, 1);
  };
  return with_rows(spec, {.min_length = 2, .min_chunks = 2, .exact_scale = true}, row, {.noise = 0.1});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::largest_logit, .at_least = 86, .share = 0.9},
                                 {.field = &Difficulty::spread, .at_most = 2}};

}  // namespace

Family max_window() {
  return {"row maxima at -110 ... 110, where exp(-m) alone leaves the range", kAttentionOnly, make, kPromises};
}

}  // namespace flashproof::family::max_window
