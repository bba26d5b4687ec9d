// Merges along a tree that is an input: balanced, a caterpillar from either end, any two nodes that are left. States with
// lse = -inf among them, so that joins with nothing on one side or both occur anywhere in the tree.
#include "properties/generators/build.h"
#include "properties/generators/joins.h"

namespace flashproof::family::merge_tree {
namespace {

Case make(const CaseSpec& spec) {
  const auto states = static_cast<int>(2 + spec.seed * 5 % 14);
  Problem problem = draw_shape(spec, {.exact_chunks = states});
  Random random = value_stream(spec);
  auto& merge = std::get<MergeProblem>(problem);
  const auto shape = static_cast<TreeShape>(spec.seed % 3);
  merge.joins = draw_joins(random, static_cast<int>(merge.order.size()), shape);
  const double deviation = random.uniform(0.5, 40);
  const double offset = random.uniform(-100, 100);
  const double empty = random.chance(0.4) ? random.uniform(0.1, 0.7) : 0;
  return with_rows(spec, std::move(problem), random, [=](Random& r, const LogitSite&, std::span<double> logits) {
    for (double& logit : logits) {
      const double number = offset + deviation * r.normal();
      logit = r.chance(empty) ? -kInfinity : number;
    }
  });
}

constexpr Promise kPromises[] = {{.field = &Difficulty::joins, .at_least = 1},
                                 {.field = &Difficulty::hidden_share, .at_least = 0.1, .share = 0.25}};

}  // namespace

Family merge_tree() {
  return {"a merge tree as input: balanced, caterpillar, random; empty states in it", kMergeOnly, make, kPromises};
}

}  // namespace flashproof::family::merge_tree
