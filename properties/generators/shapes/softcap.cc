// Scores through c·tanh(s/c): far below the cap, around it, and where all of them saturate and nearly tie. Scores that know nothing
// of the cap would leave a large one out of every comparison.
#include "properties/generators/features.h"

namespace flashproof::family {
namespace {

Case make(const CaseSpec& spec) {
  Problem problem =
      draw_shape(spec, {.causal_chance = 0.2, .ragged_chance = 0.1, .bias_chance = 0.2, .exact_scale = true});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  // Four seeds have caps of every size, and scores from a tenth of the cap to four times as much; the next four scores of any.
  constexpr float kCaps[] = {20, 1000, 1, 50, 5, 0.125F};
  constexpr double kOfCap[] = {0.1, 0.5, 4, 1}, kDeviations[] = {0.5, 4, 40};
  attention.softcap = kCaps[spec.seed % std::size(kCaps)];
  const double any = pick(random, kDeviations), of_cap = kOfCap[spec.seed % std::size(kOfCap)];
  const double deviation =
      spec.seed / 4 % 2 == 0 ? of_cap * attention.softcap : std::max(any, 0.01 * attention.softcap);
  // As much in the dot products where a bias holds the scores: it is added behind the cap.
  put_logits(problem, random,
             [=](Random& r, const LogitSite&, std::span<double> logits) {
               for (double& logit : logits) logit = deviation * r.normal();
             },
             {.noise = deviation});
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::saturation, .at_least = 0.004},
                                 {.field = &Difficulty::saturation, .at_least = 1, .share = 0.25}};

}  // namespace

Family softcap() {
  return {"softcap", "scores through c*tanh(s/c), from the straight part to saturation", kAttentionOnly, make,
          kPromises};
}

}  // namespace flashproof::family
