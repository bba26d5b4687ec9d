// Random -inf entries: one single masked key (enough to break a thread that starts at -inf, seed 004), a few, half, or
// nearly all; ragged lengths and causal masks on top. Rows may end up fully masked.
#include "properties/generators/build.h"

namespace flashproof::family::mask_random {
namespace {

constexpr double kShares[] = {0, 0.1, 0.5, 0.9};
// Of a vocabulary the likeliest are kept, as sampling does: most threads of a kernel see no other number for several steps.
constexpr double kLong = 8192, kKept = 50;

void masked_row(Random& random, const LogitSite&, std::span<double> logits) {
  const auto n = static_cast<double>(logits.size());
  const double share = n > kLong ? 1 - kKept / n : pick(random, kShares);
  for (double& logit : logits) {
    const double value = 2 * random.normal();
    logit = random.chance(share) ? -kInfinity : value;
  }
  // At least one, so that no row is without the hazard; among the first columns, where threads start.
  if (!logits.empty())
    logits[static_cast<std::size_t>(random.integer(0, std::min<std::int64_t>(std::ssize(logits), 512) - 1))] =
        -kInfinity;
}

Case make(const CaseSpec& spec) {
  return with_rows(spec, {.causal_chance = 0.3, .ragged_chance = 0.3, .exact_scale = true}, masked_row,
                   {.carrier = Carrier::bias, .noise = 1});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::hidden_share, .at_least = 9e-4}};

}  // namespace

Family mask_random() {
  return {"random -inf entries, from one to nearly all; ragged, causal", kAll, make, kPromises, long_rows};
}

}  // namespace flashproof::family::mask_random
