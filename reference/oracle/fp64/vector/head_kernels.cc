// The vector code of attention, compiled for each target of highway_targets.h and chosen at run time.
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/vector/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/oracle/fp64/vector/head_kernels.cc"
#include "hwy/foreach_target.h"
// Highway's own order: foreach_target.h first.
#include "hwy/highway.h"
#include "reference/oracle/fp64/vector/chunk-inl.h"
#include "reference/oracle/fp64/vector/pack-inl.h"

#if HWY_ONCE

#include <algorithm>

namespace flashproof::attention64 {

HWY_EXPORT(pack_chunk);
HWY_EXPORT(load_queries);
HWY_EXPORT(add_chunk);

void pack_chunk(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head, Chunk& chunk,
                Scratch& scratch) {
  HWY_DYNAMIC_DISPATCH(pack_chunk)(problem, sequence, kv_head, chunk, scratch);
}

void load_queries(const AttentionProblem& problem, RowBlock& block, Scratch& scratch) {
  HWY_DYNAMIC_DISPATCH(load_queries)(problem, block, scratch);
}

void add_chunk(const AttentionProblem& problem, const AttentionOptions& options, const Chunk& chunk, RowBlock& block,
               Scratch& scratch) {
  HWY_DYNAMIC_DISPATCH(add_chunk)(problem, options, chunk, block, scratch);
}

std::int64_t Scratch::doubles(std::int64_t capacity, std::int64_t depth, std::int64_t padded_width) {
  const std::int64_t rows = std::max(round_up(depth, 8) * kPanel, padded_width);
  return kBlockRows * (round_up(depth, 8) + 3 * padded_width + pitch(capacity) + pitch(capacity) / 2 +
                       pitch(padded_width) + pitch(padded_width) / 2) +
         2 * capacity + rows;
}

void Scratch::prepare(std::int64_t capacity, std::int64_t depth, std::int64_t padded_width) {
  double* at = buffer.grow(doubles(capacity, depth, padded_width));
  const auto take = [&at](std::int64_t count) {
    double* const result = at;
    at += count;
    return result;
  };
  q = take(kBlockRows * round_up(depth, 8));
  scores = take(kBlockRows * pitch(capacity));
  entries = reinterpret_cast<float*>(take(kBlockRows * pitch(capacity) / 2));
  sums = take(kBlockRows * pitch(padded_width));
  sizes = reinterpret_cast<float*>(take(kBlockRows * pitch(padded_width) / 2));
  offset = take(capacity);
  error = take(capacity);
  vectors = take(kBlockRows * 3 * padded_width);
  keys = take(std::max(round_up(depth, 8) * kPanel, padded_width));
}

}  // namespace flashproof::attention64

#endif  // HWY_ONCE
