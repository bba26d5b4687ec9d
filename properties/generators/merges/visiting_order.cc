// The orders in which context-parallel attention meets its blocks. ring_order: rank r of a ring begins with its own block
// and takes those of its neighbours as they come round, forwards or backwards (ring attention). striped_order: the
// blocks of one stripe after the other, every R-th (striped attention). Both over 5..16 chunks or states, where
// chunk_order only shuffles; beside a wide spread of logits, so that an update that keeps the wrong frame shows.
#include "properties/generators/build.h"

namespace flashproof::family::visiting_order {
namespace {

std::vector<std::int32_t>& order_of(Problem& problem) {
  if (auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return softmax->plan.order;
  if (auto* merge = std::get_if<MergeProblem>(&problem)) return merge->order;
  return std::get<AttentionProblem>(problem).plan.order;
}

std::vector<std::int32_t> rotated(Random& random, int n) {
  const auto rank = static_cast<int>(random.integer(0, n - 1));
  const int step = random.chance(0.5) ? 1 : n - 1;
  std::vector<std::int32_t> order;
  order.reserve(static_cast<std::size_t>(n));
  for (int hop = 0; hop < n; ++hop) order.push_back((rank + hop * step) % n);
  return order;
}

std::vector<std::int32_t> striped(Random& random, int n) {
  const auto stripes = static_cast<int>(random.integer(2, std::max(2, n / 2)));
  const auto first = static_cast<int>(random.integer(0, stripes - 1));
  std::vector<std::int32_t> order;
  for (int s = 0; s < stripes; ++s) {
    for (int block = (first + s) % stripes; block < n; block += stripes) order.push_back(block);
  }
  return order;
}

Case make(const CaseSpec& spec, std::vector<std::int32_t> (*draw)(Random&, int)) {
  const bool keyed = spec.keys.contains("cols") || spec.keys.contains("sk") || spec.keys.contains("n");
  const auto chunks = static_cast<int>(5 + spec.seed % 12);
  const ShapeWish wish{.min_length = keyed ? 0 : chunks, .exact_chunks = chunks, .exact_scale = true};
  Problem problem = draw_shape(spec, wish);
  Random random = value_stream(spec);
  std::vector<std::int32_t>& order = order_of(problem);
  if (!spec.keys.contains("order") && !order.empty()) order = draw(random, static_cast<int>(order.size()));
  const double deviation = random.uniform(0.5, 12);
  const double offset = random.uniform(-20, 20);
  return with_rows(spec, std::move(problem), random, normal_row(deviation, offset), {.noise = 0.5});
}

constexpr Promise kRingPromises[] = {{.field = &Difficulty::chunks, .at_least = 5},
                                     {.field = &Difficulty::permuted, .at_least = 4, .share = 0.85}};

constexpr Promise kStripedPromises[] = {{.field = &Difficulty::chunks, .at_least = 5},
                                        {.field = &Difficulty::permuted, .at_least = 3, .share = 0.9}};

}  // namespace

Family ring_order() {
  return {"5..16 chunks in the order of a rank of a ring, rotated", kAll,
          [](const CaseSpec& spec) { return make(spec, rotated); }, kRingPromises};
}

Family striped_order() {
  return {"5..16 chunks stripe by stripe, every R-th", kAll, [](const CaseSpec& spec) { return make(spec, striped); },
          kStripedPromises};
}

}  // namespace flashproof::family::visiting_order
