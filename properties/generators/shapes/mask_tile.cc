// A chunk that is fully hidden while its row is not: the first one visited, one in the middle, or the last. The local
// maximum is -inf, and exp(-inf - (-inf)) is NaN in every form without a guard (F02, kernels/broken). The last tile is hidden
// by -inf entries, or by a length that ends before it.
#include "properties/generators/build.h"

namespace flashproof::family::mask_tile {
namespace {

enum class Visit : std::uint8_t { first, middle, last };

int visit_of(Visit place, const ChunkPlan& plan, Random& random) {
  const int middle = plan.chunks() > 2 ? static_cast<int>(random.integer(1, plan.chunks() - 2)) : 0;
  return place == Visit::first ? 0 : place == Visit::last ? plan.chunks() - 1 : middle;
}

const ChunkPlan* plan_of(const Problem& problem) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return &softmax->plan;
  if (const auto* attention = std::get_if<AttentionProblem>(&problem)) return &attention->plan;
  return nullptr;
}

template <Visit place>
Case make(const CaseSpec& spec) {
  constexpr int kChunks = place == Visit::middle ? 3 : 2;
  Problem problem = draw_shape(spec, {.min_length = kChunks, .min_chunks = kChunks, .exact_scale = true});
  Random random = value_stream(spec);
  const bool by_length = random.chance(1.0 / 3) && place == Visit::last;
  const ChunkPlan* plan = plan_of(problem);
  if (by_length && plan != nullptr && plan->chunks() > 1) {
    const std::int64_t length = *(plan->boundary.end() - 2);
    put_lengths(problem, [=](std::int64_t) { return length; });
  }
  const auto row = [](Random& r, const LogitSite& site, std::span<double> logits) {
    for (double& logit : logits) logit = 2 * r.normal();
    const bool spared = r.chance(0.25) && site.row > 0;  // some rows stay whole: a kernel must not mix rows up
    if (logits.empty() || spared) return;
    const KeyRange hidden = visited_chunk(site.plan, visit_of(place, site.plan, r));
    for (std::int64_t j = hidden.begin; j < hidden.end; ++j) logits[static_cast<std::size_t>(j)] = -kInfinity;
  };
  return with_rows(spec, std::move(problem), random, row, {.carrier = Carrier::bias, .noise = 1});
}

constexpr Promise kFirstPromises[] = {{.field = &Difficulty::first_hidden, .at_least = 0.5}};

constexpr Promise kMiddlePromises[] = {{.field = &Difficulty::middle_hidden, .at_least = 0.3}};

constexpr Promise kLastPromises[] = {{.field = &Difficulty::last_hidden, .at_least = 0.3, .share = 0.8}};

}  // namespace

Family mask_first_tile() {
  return {"the first visited chunk is fully hidden", kAll, make<Visit::first>, kFirstPromises};
}
Family mask_middle_tile() {
  return {"a chunk in the middle of the visit is fully hidden", kAll, make<Visit::middle>, kMiddlePromises};
}
Family mask_last_tile() {
  return {"the last visited chunk is fully hidden, by -inf or by the length", kAll, make<Visit::last>, kLastPromises};
}

}  // namespace flashproof::family::mask_tile
