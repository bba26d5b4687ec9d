// Keys in pages of 1, 16, 64 or 256 slots in any order, the last one of a sequence partly used. Unused slots and pages
// are NaN, and the table's unused entries point nowhere. Masked chunks as in mask_random, or packed queries on top. Sequences
// may begin with the same pages, as those of a cache of prefixes do, or have them at other places.
#include "properties/generators/features.h"

namespace flashproof::family::paged {
namespace {

constexpr std::uint64_t kSharing = 0x5a3ed;  // a stream of its own

void masked(Random& random, const LogitSite&, std::span<double> logits) {
  const bool some = random.chance(0.5);
  for (double& logit : logits) {
    const double value = 2 * random.normal();
    logit = some && random.chance(0.5) ? -kInfinity : value;
  }
}

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const bool packed = random.chance(0.3);
  Random sharing(spec.seed, kSharing);
  Problem problem = draw_shape(spec, {.causal_chance = 0.3, .exact_scale = true, .packed = packed, .paged = true});
  const bool mask = random.chance(0.4);
  if (sharing.chance(0.9)) share_pages(std::get<AttentionProblem>(problem), sharing);
  if (mask && !packed) {
    return with_rows(spec, std::move(problem), random, masked, {.carrier = Carrier::bias, .noise = 1});
  }
  return with_spread(spec, std::move(problem), random, 2);
}

constexpr Promise kPromises[] = {{.field = &Difficulty::page_size, .at_least = 1},
                                 {.field = &Difficulty::partial_pages, .at_least = 1, .share = 0.4},
                                 {.field = &Difficulty::shared_pages, .at_least = 2, .share = 0.1},
                                 {.field = &Difficulty::moved_pages, .at_least = 2, .share = 0.03}};

}  // namespace

Family paged() {
  return {"keys in pages of 1, 16, 64, 256 slots, NaN in every unused one; sequences share pages", kAttentionOnly, make,
          kPromises};
}

}  // namespace flashproof::family::paged
