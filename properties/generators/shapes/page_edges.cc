// Paged sequences of k pages, one key less and one key more, and of one key: the last page full, nearly full, or holding one
// key. A page too many reads slots that are NaN, one too few loses keys; half of the logits are around -5, so that a slot
// scored 0 takes over the row. In half of the cases sequences share pages.
#include "properties/generators/features.h"

namespace flashproof::family::page_edges {
namespace {

constexpr std::uint64_t kSharing = 0x5a3ed9e5;  // a stream of its own

Case make(const CaseSpec& spec) {
  constexpr std::int64_t kRoom[] = {1, 16, 17, 31, 32, 33, 48, 63, 64, 65};
  Random random = value_stream(spec);
  Problem problem = draw_shape(
      spec,
      {.length = pick(random, kRoom), .causal_chance = 0.3, .exact_scale = true, .paged = true, .page_edges = true});
  const double offset = random.chance(0.5) ? -5 : 0;
  Random sharing(spec.seed, kSharing);
  if (sharing.chance(0.5)) share_pages(std::get<AttentionProblem>(problem), sharing);
  return with_rows(spec, std::move(problem), random, normal_row(1, offset), {.noise = 0.5});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::page_size, .at_least = 1},
                                 {.field = &Difficulty::page_edges, .at_least = 0.5, .share = 0.9}};

}  // namespace

Family page_edges() {
  return {"sequences of k pages, one key less, one key more, and of one key", kAttentionOnly, make, kPromises};
}

}  // namespace flashproof::family::page_edges
