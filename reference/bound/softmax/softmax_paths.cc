// The reductions whose keys enter in their final frame, and which walk belongs to which.
#include "reference/bound/softmax/softmax_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/declare/declaration.h"
#include "reference/bound/row/row_model.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

int joins_after_lane(const SoftmaxPaths& paths, const Arithmetic& arithmetic, int lanes) {
  const int declared = log2_ceil(lanes / arithmetic.warps) + arithmetic.warps - 1;
  return std::max(declared, std::min(arithmetic.lane_joins, static_cast<int>(paths.size()) - 1));
}

void charge_lanes(SoftmaxPaths& paths, KeyRange range, std::int64_t first, const Lanes& lanes,
                  const Arithmetic& arithmetic, double frame) {
  const int joins = joins_after_lane(paths, arithmetic, lanes.lanes);
  std::vector<int> in_lane(lanes.lanes, 0);
  std::vector<std::size_t> leading(lanes.lanes, range.end);
  for (std::size_t i = range.end; i-- > range.begin;) {
    const std::size_t lane = lanes.of(paths.column[i], first);
    paths.entry[i] = frame;
    paths.roundings[i] = ++in_lane[lane] + joins;
    leading[lane] = i;
  }
  for (const std::size_t i : leading) {
    if (i < range.end) --paths.roundings[i];
  }
}

KeyRange keys_between(const SoftmaxPaths& paths, std::int64_t first, std::int64_t last) {
  const auto begin = std::ranges::lower_bound(paths.column, first);
  const auto end = std::ranges::lower_bound(paths.column, last);
  return {static_cast<std::size_t>(begin - paths.column.begin()), static_cast<std::size_t>(end - paths.column.begin())};
}

void walk_two_pass(const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths) {
  const bool shifted = arithmetic.reduction != Reduction::unshifted;
  charge_lanes(paths, {0, paths.size()}, 0, lanes, arithmetic, shifted ? paths.max : 0);
}

/// Every chunk by itself; then Σ d_i e^{m_i − M} in visiting order, from left to right. (m, d): a product and a sum, which
/// covers one fma.
void walk_chunk_states(const ChunkPlan& plan, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths) {
  paths.chunk.resize(paths.size());
  for (int n = 0; n < plan.chunks(); ++n) {
    const std::int64_t first = plan.boundary[plan.order[n]];
    const KeyRange range = keys_between(paths, first, plan.boundary[plan.order[n] + 1]);
    if (range.begin == range.end) continue;  // empty here, or hidden
    ChunkState chunk{.max = -std::numeric_limits<double>::infinity()};
    for (std::size_t i = range.begin; i < range.end; ++i) chunk.max = std::max(chunk.max, paths.x[i]);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      chunk.sum += std::exp(paths.x[i] - chunk.max);
      paths.chunk[i] = static_cast<int>(paths.chunks.size());
    }
    charge_lanes(paths, range, first, lanes, arithmetic, chunk.max);
    paths.chunks.push_back(chunk);
  }
  const int count = static_cast<int>(paths.chunks.size());
  const int product = arithmetic.merge_weights == MergeWeights::max_sum ? 1 : 0;
  for (int i = 0; i < count; ++i) paths.chunks[i].roundings = product + std::min(count - i, count - 1);
}

SoftmaxPaths softmax_paths(const SoftmaxProblem& problem, const Arithmetic& arithmetic, const std::vector<double>& x,
                           const Lanes& lanes) {
  SoftmaxPaths paths;
  paths.max = -kInfinity;
  paths.column.resize(x.size());
  paths.x.resize(x.size());
  std::size_t n = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {  // kept if the next does not overwrite it
    paths.column[n] = static_cast<std::int64_t>(j);
    paths.x[n] = x[j];
    n += x[j] != -kInfinity;
    paths.max = std::max(paths.max, x[j]);
  }
  paths.column.resize(n);
  paths.x.resize(n);
  paths.entry.resize(n);
  paths.rescales.resize(n);
  paths.roundings.resize(n);
  const ChunkPlan plan = visited_plan(problem.plan, arithmetic);
  if (arithmetic.visits == BlockOrder::any) {
    walk_any_order(plan, arithmetic, lanes, paths);
    return paths;
  }
  switch (arithmetic.reduction) {
    case Reduction::strided_online:
      walk_strided_online(lanes, paths);
      break;
    case Reduction::chunked_online:
      walk_chunked_online(plan, arithmetic, lanes, paths);
      break;
    case Reduction::chunked_local:
      walk_chunked_local(plan, arithmetic, lanes, paths);
      break;
    case Reduction::chunk_states:
      walk_chunk_states(plan, arithmetic, lanes, paths);
      break;
    default:
      walk_two_pass(arithmetic, lanes, paths);
  }
  return paths;
}

}  // namespace flashproof::bound
