// Several features of attention at once, in any combination: their order matters (cap, then bias, then ALiBi), and the
// lengths that each counts by must agree.
#include "properties/generators/features.h"

namespace flashproof::family::feature_mix {
namespace {

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const bool packed = random.chance(0.4);
  const bool paged = random.chance(0.4);
  Problem problem = draw_shape(spec, {.causal_chance = 0.5,
                                      .ragged_chance = 0.3,
                                      .bias_chance = packed ? 0 : 0.4,
                                      .exact_scale = true,
                                      .packed = packed,
                                      .paged = paged});
  auto& attention = std::get<AttentionProblem>(problem);
  if (random.chance(0.5)) put_window(attention, random);
  if (random.chance(0.5)) put_softcap(attention, random);
  if (random.chance(0.5)) put_alibi(attention, random);
  if (random.chance(0.5)) put_sink(attention, random, false);
  if (paged) share_pages(attention, random);
  return with_spread(spec, std::move(problem), random, 3);
}

constexpr Promise kPromises[] = {{.field = &Difficulty::features, .at_least = 2, .share = 0.7}};

}  // namespace

Family feature_mix() {
  return {"window, softcap, bias, ALiBi, sink, packed, paged in any combination", kAttentionOnly, make, kPromises};
}

}  // namespace flashproof::family::feature_mix
