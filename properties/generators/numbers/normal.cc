// Numbers as a network has them: normal, some standard deviation, some offset. The control among the families: what
// fails here fails everywhere. N(0,1) alone hides most defects, so deviation, offset and scale vary.
#include "properties/generators/build.h"

namespace flashproof::family::normal {
namespace {

constexpr double kDeviations[] = {0.25, 1, 1, 4};
constexpr double kOffsets[] = {0, 0, -6, 5};

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.bias_chance = 0.25});  // nothing masked: the control
  Random random = value_stream(spec);
  const double deviation = pick(random, kDeviations);
  const double offset = pick(random, kOffsets);
  const LogitRow row = [&](Random& r, const LogitSite&, std::span<double> logits) {
    for (double& logit : logits) logit = offset + deviation * r.normal();
  };
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    put_queries(*attention, random, deviation);
    put_keys(*attention, random, 1);
    if (attention->has_bias()) put_bias(*attention, random, row);
  } else {
    put_logits(problem, random, row);
  }
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::hidden_share, .at_most = 0},
                                 {.field = &Difficulty::largest_logit, .at_most = 64},
                                 {.field = &Difficulty::visible_nans, .at_most = 0}};

}  // namespace

Family normal() { return {"normal numbers of several deviations and offsets: the control", kAll, make, kPromises}; }

}  // namespace flashproof::family::normal
