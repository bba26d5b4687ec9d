// Lengths one before, at and one after a multiple of the chunk, and 1. Half of the logits are around -5, so that a tail
// key that is scored 0 instead of being hidden takes over the row.
#include "properties/generators/build.h"

namespace flashproof::family::tile_edges {
namespace {

std::int64_t edge(Random& random, std::int64_t chunk, std::int64_t longest) {
  const std::int64_t tiles = random.integer(1, std::max<std::int64_t>(longest / chunk, 1));
  const std::int64_t off = random.integer(-1, 1);
  const bool one = random.chance(0.1);
  return std::clamp<std::int64_t>(one ? 1 : tiles * chunk + off, std::min<std::int64_t>(1, longest), longest);
}

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const bool softmax = spec.problem == ProblemKind::softmax;
  constexpr std::int64_t kSoftmaxChunks[] = {16, 32, 64, 128, 512};
  constexpr std::int64_t kAttentionChunks[] = {8, 16, 32};
  const std::int64_t chunk = softmax ? pick(random, kSoftmaxChunks) : pick(random, kAttentionChunks);
  const std::int64_t length = edge(random, chunk, softmax ? 1025 : 65);
  Problem problem = draw_shape(spec, {.length = length, .chunk = chunk, .causal_chance = 0.3, .exact_scale = true});

  // Ragged rows too; always where a key has chosen the extents and they need not be at an edge.
  const bool ragged = random.chance(0.5);
  const bool chosen = spec.keys.contains("cols") || spec.keys.contains("sk") || spec.keys.contains("chunk");
  const std::int64_t longest = length_of(problem);
  if ((ragged || chosen) && longest > 0) {
    const auto& plan = softmax ? std::get<SoftmaxProblem>(problem).plan : std::get<AttentionProblem>(problem).plan;
    const std::int64_t first = plan.boundary[1];
    put_lengths(problem, [&](std::int64_t) { return edge(random, first, longest); });
  }
  const double offset = random.chance(0.5) ? -5 : 0;
  const auto row = normal_row(1, offset);
  return with_rows(spec, std::move(problem), random, row, {.noise = 0.5});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::tile_edges, .at_least = 1}};

}  // namespace

Family tile_edges() { return {"lengths k*chunk - 1, k*chunk, k*chunk + 1, and 1", kTiled, make, kPromises}; }

}  // namespace flashproof::family::tile_edges
