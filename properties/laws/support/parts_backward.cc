#include "properties/laws/support/parts_backward.h"

#include <algorithm>

#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"

namespace flashproof {
namespace {

using Index = std::vector<std::int64_t>;

Index from(std::int64_t first, std::int64_t end) {
  Index index;
  for (std::int64_t i = first; i < end; ++i) index.push_back(i);
  return index;
}

}  // namespace

GradientSlice whole_slice(const AttentionProblem& p) { return {iota(p.batch()), iota(p.q_heads()), iota(p.k_heads())}; }

Index group_of(const AttentionProblem& p, std::int64_t kv) {
  Index heads;
  for (std::int64_t h = 0; h < p.q_heads(); ++h) {
    if (p.kv_head(h) == kv) heads.push_back(h);
  }
  return heads;
}

GradientPart slice_of(const BackwardProblem& whole, const GradientSlice& slice) {
  const AttentionProblem& f = whole.forward;
  GradientPart part{whole, {}, {}};
  AttentionProblem& p = part.problem.forward;
  const Index queries = from(slice.first_query, f.q_length()), keys = from(slice.first_key, f.k_length());
  keep_along(part.problem, Axis::batch, slice.batches);
  keep_along(part.problem, Axis::q_heads, slice.q_heads);
  keep_along(part.problem, Axis::k_heads, slice.k_heads);
  keep_along(part.problem, Axis::q_length, queries);
  keep_along(part.problem, Axis::k_length, keys);
  for (std::int32_t& length : p.key_length) {
    length = static_cast<std::int32_t>(std::max<std::int64_t>(length - slice.first_key, 0));
  }
  p.plan = ChunkPlan::uniform(p.k_length(), 64);  // orders nothing here
  if (slice.first_key > 0) part.problem = as_stage(std::move(part.problem));
  for (const std::int64_t b : slice.batches) {
    for (const std::int64_t h : slice.q_heads) {
      for (const std::int64_t i : queries) part.query_row.push_back(query_row(f, b, h, i));
    }
    for (const std::int64_t kv : slice.k_heads) {
      for (const std::int64_t j : keys) part.key_row.push_back(key_row(f, b, kv, j));
    }
  }
  return part;
}

}  // namespace flashproof
