// A sink logit per head: one more key without a value. Beside a first chunk that is hidden, and rows without any key,
// where the sink alone is the state: o = 0, lse = sink.
#include "properties/generators/features.h"

namespace flashproof::family::sink {
namespace {

void hidden_first_chunk(Random& random, const LogitSite& site, std::span<double> logits) {
  for (double& logit : logits) logit = 2 * random.normal();
  const bool all = random.chance(0.1);
  if (logits.empty()) return;
  const KeyRange hidden = visited_chunk(site.plan, 0);
  for (std::int64_t j = all ? 0 : hidden.begin; j < (all ? std::ssize(logits) : hidden.end); ++j) {
    logits[static_cast<std::size_t>(j)] = -kInfinity;
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.causal_chance = 0.2, .ragged_chance = 0.3, .exact_scale = true});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  put_sink(attention, random, true);
  // Every fourth case has a NaN, every fourth +inf.
  if (const std::uint64_t special = spec.seed % 4; in_turn(spec) && special >= 2) {
    attention.sink.set({random.integer(0, attention.q_heads() - 1)},
                       special == 2 ? std::numeric_limits<double>::quiet_NaN() : kInfinity);
  }
  if (random.chance(0.5)) {
    return with_rows(spec, std::move(problem), random, hidden_first_chunk, {.carrier = Carrier::bias, .noise = 1});
  }
  return with_spread(spec, std::move(problem), random, 2);
}

constexpr Promise kPromises[] = {{.field = &Difficulty::sinks, .at_least = 0.4, .share = 0.6},
                                 {.field = &Difficulty::sink_beside_empty, .at_least = 0.1, .share = 0.2}};

}  // namespace

Family sink() {
  return {"a sink per head, none, far away or NaN; first chunks and rows without a key", kAttentionOnly, make,
          kPromises};
}

}  // namespace flashproof::family::sink
