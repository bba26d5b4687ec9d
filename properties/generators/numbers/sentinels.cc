// Both sides of the finite numbers that kernels use for minus infinity: -1e4, -3e4, -5e4, -65504, -1e9, -FLT_MAX. Rows wholly
// above one, by a spacing or a few, wholly below, or on both sides: a running maximum that starts there never sees what is
// below, and a mask that tests against it hides visible keys. (deep_negative is far below everything.)
#include "properties/generators/build.h"

namespace flashproof::family::sentinels {
namespace {

enum class Side : std::uint8_t { above, below, both, one_above, first_chunk_below };
constexpr Side kSides[] = {Side::above, Side::below, Side::both, Side::one_above, Side::first_chunk_below};

void sentinel_row(Random& random, std::uint64_t seed, const LogitSite& site, std::span<double> logits) {
  // In turn, so that 30 consecutive seeds have each sentinel from each side; those that the format cannot hold
  // give way to the next smaller one. Nothing is below the lowest number of a format: there the row is at it and above.
  const std::uint64_t turn = seed + static_cast<std::uint64_t>(site.row);
  std::size_t at = turn % std::size(kSentinels);
  while (at > 0 && -kSentinels[at] > site.max_logit) --at;
  const double sentinel = -kSentinels[at];
  const double unit = spacing(sentinel, site.precision);
  const Side side = kSides[(seed / std::size(kSentinels) + static_cast<std::uint64_t>(site.row)) % std::size(kSides)];
  const bool wide = random.chance(0.3);  // a few nats rather than spacings, where the format has them
  const auto lucky = random.integer(0, std::max<std::int64_t>(std::ssize(logits) - 1, 0));
  const KeyRange first = site.plan.chunks() > 0 ? visited_chunk(site.plan, 0) : KeyRange{0, 0};
  for (std::int64_t j = 0; j < std::ssize(logits); ++j) {
    const bool heads = random.chance(0.5);
    const double spacings = unit * static_cast<double>(random.integer(1, 3));
    const double nats = random.uniform(0.1, 5);
    const double off = wide ? std::max(nats, unit) : spacings;
    const bool up = side == Side::above || (side == Side::both && heads) || (side == Side::one_above && j == lucky) ||
                    (side == Side::first_chunk_below && (j < first.begin || j >= first.end));
    logits[static_cast<std::size_t>(j)] = std::max(up ? off - sentinel : -sentinel - off, -site.max_logit);
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.ragged_chance = 0.1, .exact_scale = true});
  Random random = value_stream(spec);
  put_logits(
      problem, random,
      [&](Random& r, const LogitSite& site, std::span<double> logits) { sentinel_row(r, spec.seed, site, logits); },
      {.noise = 0});
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::sentinel_gap, .at_most = 0.01, .share = 0.95},
                                 {.field = &Difficulty::below_sentinel, .at_least = 0.2, .share = 0.6}};

}  // namespace

Family sentinels() {
  return {"logits just above and below -1e4, -3e4, -5e4, -65504, -1e9, -FLT_MAX", kAll, make, kPromises};
}

}  // namespace flashproof::family::sentinels
