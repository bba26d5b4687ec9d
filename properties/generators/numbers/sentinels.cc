// Both sides of the finite numbers that kernels use for minus infinity: -1e4, -3e4, -5e4, -65504, -1e9, -FLT_MAX. Rows wholly
// above one, by a spacing or a few, wholly below, or on both sides: a running maximum that starts there never sees what is
// below, and a mask that tests against it hides visible keys. (deep_negative is far below everything.)
#include "properties/generators/build.h"

namespace flashproof::family {
namespace {

enum class Side : std::uint8_t { above, below, both, one_above, first_chunk_below };
constexpr Side kSides[] = {Side::above, Side::below, Side::both, Side::one_above, Side::first_chunk_below};

/// Of every other four seeds (0 to 3, 8 to 11, ...): rows enough for the pairs of a sentinel and a side in turn. Attention has all 30 of
/// them in its bias, in two seeds of 16 rows (in dot products all queries of a head have one row); the others, of 4 rows a seed, each
/// sentinel wholly below a row and wholly above, and all 30 in eight such seeds.
bool many_rows(const CaseSpec& spec) { return spec.seed / 4 % 2 == 0; }
bool in_bias(const CaseSpec& spec) {
  return spec.problem == ProblemKind::attention && many_rows(spec) && spec.seed % 2 == 0;
}
constexpr std::int64_t kRows = 4, kBiasRows = 16;

std::uint64_t turn_of(const CaseSpec& spec, std::int64_t row) {
  const auto r = static_cast<std::uint64_t>(row);
  if (!many_rows(spec)) return spec.seed + r * (std::size(kSentinels) + 1);
  const std::uint64_t each = spec.problem == ProblemKind::attention ? kBiasRows / 2 : kRows;
  return (spec.seed / 8 * 4 + spec.seed % 4) * each + r;
}

void sentinel_row(Random& random, std::uint64_t turn, const LogitSite& site, std::span<double> logits) {
  // Sentinels that the format cannot hold give way to the next smaller one. Nothing is below the lowest number of a format: there the
  // row is at it and above.
  std::size_t at = turn % std::size(kSentinels);
  while (at > 0 && -kSentinels[at] > site.max_logit) --at;
  const double sentinel = -kSentinels[at];
  const double unit = spacing(sentinel, site.precision);
  const Side side = kSides[turn / std::size(kSentinels) % std::size(kSides)];
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

/// Sizes that leave so many rows cheap.
ShapeWish wish(const CaseSpec& spec) {
  constexpr std::int64_t kColumns[] = {1024, 33, 512, 129};
  ShapeWish wish{.ragged_chance = 0.1, .exact_scale = true};
  if (!many_rows(spec)) return wish;
  if (spec.problem == ProblemKind::softmax) wish.length = kColumns[spec.seed % std::size(kColumns)];
  if (spec.problem != ProblemKind::attention) wish.rows = kRows;
  if (!in_bias(spec)) return wish;
  wish.rows = kBiasRows;
  wish.head_dim = wish.value_dim = 4;
  return wish;
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, wish(spec));
  Random random = value_stream(spec);
  put_logits(problem, random,
             [&](Random& r, const LogitSite& site, std::span<double> logits) {
               sentinel_row(r, turn_of(spec, site.row), site, logits);
             },
             {.carrier = in_bias(spec) ? Carrier::bias : Carrier::any, .noise = 0});
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::sentinel_gap, .at_most = 0.01, .share = 0.95},
                                 {.field = &Difficulty::below_sentinel, .at_least = 0.2, .share = 0.6}};

}  // namespace

Family sentinels() {
  return {"sentinels", "logits just above and below -1e4, -3e4, -5e4, -65504, -1e9, -FLT_MAX", kAll, make, kPromises};
}

}  // namespace flashproof::family
