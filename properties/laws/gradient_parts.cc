#include "properties/laws/gradient_parts.h"

#include <algorithm>

#include "properties/laws/change.h"
#include "properties/laws/gradient_reading.h"

namespace flashproof {
namespace {

using Index = std::vector<std::int64_t>;

void keep(Tensor& tensor, int axis, const Index& index) {
  if (!tensor.shape.empty()) tensor = gather(tensor, axis, index);
}

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
  for (Tensor* tensor : {&p.q, &p.bias, &p.alibi, &part.problem.d_out, &part.problem.o, &part.problem.lse}) {
    keep(*tensor, 0, slice.batches);
    keep(*tensor, 1, slice.q_heads);
  }
  for (Tensor* tensor : {&p.q, &p.bias, &part.problem.d_out, &part.problem.o, &part.problem.lse}) {
    keep(*tensor, 2, queries);
  }
  for (Tensor* tensor : {&p.k, &p.v}) {
    keep(*tensor, 0, slice.batches);
    keep(*tensor, 1, slice.k_heads);
    keep(*tensor, 2, keys);
  }
  keep(p.bias, 3, keys);
  p.key_length.clear();
  for (const std::int64_t b : slice.batches) {
    if (f.key_length.empty()) break;
    const std::int64_t length = f.key_length[static_cast<std::size_t>(b)] - slice.first_key;
    p.key_length.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(length, 0)));
  }
  p.plan = ChunkPlan::uniform(p.k_length(), 64);  // orders nothing here
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
