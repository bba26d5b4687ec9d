// The reductions with a running maximum.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/bound/row/row_model.h"
#include "reference/bound/softmax/larger_count.h"
#include "reference/bound/softmax/softmax_paths.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

/// Every lane streams its columns; then a binary tree whose step of size `offset` joins lanes t and t +
/// offset.
void walk_strided_online(const Lanes& dealt, SoftmaxPaths& paths) {
  const int lanes = dealt.lanes;
  // Backwards through each lane would count later events directly; forwards we keep running totals, those before a key in
  // the key itself, and subtract.
  struct Running {
    double m = -kInfinity;
    int rises = 0, adds = 0;
  };
  // The tree's levels of 1, 2, 4, ... lanes, one after the other: lane i of the level of w is nodes[w + i]; at first the lanes.
  std::vector<Running> nodes(2 * static_cast<std::size_t>(lanes));
  const std::span<Running> running(nodes.data() + lanes, static_cast<std::size_t>(lanes));
  for (std::size_t j = 0; j < paths.size(); ++j) {  // −inf adds exactly 0 and moves no maximum
    const double x = paths.x[j];
    Running& lane = running[dealt.of(paths.column[j], 0)];
    const bool first = lane.m == -kInfinity;
    const bool rise = x > lane.m;
    lane.rises += static_cast<int>(rise) & static_cast<int>(!first);
    paths.rescales[j] = lane.rises;
    paths.roundings[j] = lane.adds;
    lane.adds += static_cast<int>(!first);  // 0·e + 1 is exact
    lane.m = rise ? x : lane.m;
    paths.entry[j] = lane.m;
  }
  for (std::size_t w = static_cast<std::size_t>(lanes) / 2; w > 0; w /= 2) {
    for (std::size_t i = 0; i < w; ++i) nodes[w + i].m = std::max(nodes[2 * w + i].m, nodes[3 * w + i].m);
  }
  // From the last join back to the lanes: what happens to a sum from here on.
  for (std::size_t w = 1; w < static_cast<std::size_t>(lanes); w *= 2) {
    for (std::size_t i = 0; i < w; ++i) {
      const Running& joined = nodes[w + i];
      Running &left = nodes[2 * w + i], &right = nodes[3 * w + i];
      const int add = static_cast<int>(left.m != -kInfinity) & static_cast<int>(right.m != -kInfinity);
      for (Running* side : {&left, &right}) {
        side->rises += joined.rises + static_cast<int>(side->m < joined.m);
        side->adds += joined.adds + add;
      }
    }
  }
  for (std::size_t j = 0; j < paths.size(); ++j) {
    const Running& lane = running[dealt.of(paths.column[j], 0)];
    paths.rescales[j] = lane.rises - paths.rescales[j];
    paths.roundings[j] = paths.rescales[j] + lane.adds - paths.roundings[j];
  }
}

/// Chunks in visiting order: every key enters in the running frame; lane sums, butterfly in a warp, left fold over the
/// warps.
void walk_chunked_online(const ChunkPlan& plan, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths) {
  struct Visit {
    double high = -kInfinity;
    double frame = -kInfinity;
    bool rises = false;
  };
  const int joins = joins_after_lane(paths, arithmetic, lanes.lanes);
  std::vector<Visit> visits(plan.chunks());
  std::vector<int> visit_of(paths.size());
  for (int n = 0; n < plan.chunks(); ++n) {
    const int c = plan.order[n];
    const KeyRange range = keys_between(paths, plan.boundary[c], plan.boundary[c + 1]);
    std::vector<int> in_lane(lanes.lanes, 0);
    for (std::size_t i = range.end; i-- > range.begin;) {
      visit_of[i] = n;
      visits[n].high = std::max(visits[n].high, paths.x[i]);
      paths.roundings[i] = ++in_lane[lanes.of(paths.column[i], plan.boundary[c])] + joins;
    }
  }
  double m = -kInfinity;
  for (Visit& visit : visits) {
    visit.rises = visit.high > m && m != -kInfinity;
    visit.frame = m = std::max(m, visit.high);
  }
  // From the last chunk to the first: what happens to a sum after its chunk.
  std::vector<int> later_rises(plan.chunks() + 1, 0);
  std::vector<int> later_adds(plan.chunks() + 1, 0);
  for (int n = plan.chunks() - 1; n >= 0; --n) {
    later_rises[n] = later_rises[n + 1] + visits[n].rises;
    later_adds[n] = later_adds[n + 1] + (visits[n].high != -kInfinity);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const int n = visit_of[i];
    paths.entry[i] = visits[n].frame;
    paths.rescales[i] = later_rises[n + 1];
    paths.roundings[i] += later_rises[n + 1] + later_adds[n];
  }
}

/// Chunks in visiting order, each in its own frame; d̃ is rescaled where the running maximum is higher, d where it rises.
/// A product with e^0 = 1 is exact, and so is the first sum, 0 + d̃.
void walk_chunked_local(const ChunkPlan& plan, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths) {
  struct Visit {
    KeyRange range;
    bool below = false, rises = false;
  };
  std::vector<Visit> visits;  // of chunks that are not empty
  double m = -kInfinity;
  for (int n = 0; n < plan.chunks(); ++n) {
    const std::int64_t first = plan.boundary[plan.order[n]];
    const KeyRange range = keys_between(paths, first, plan.boundary[plan.order[n] + 1]);
    if (range.begin == range.end) continue;
    double high = -kInfinity;
    for (std::size_t i = range.begin; i < range.end; ++i) high = std::max(high, paths.x[i]);
    charge_lanes(paths, range, first, lanes, arithmetic, high);
    visits.push_back({range, high<m, high> m && m != -kInfinity});
    m = std::max(m, high);
  }
  int later_rises = 0;
  int later_adds = 0;
  for (std::size_t n = visits.size(); n-- > 0;) {
    const Visit& visit = visits[n];
    const int rescales = later_rises + (visit.below ? 1 : 0);
    const int adds = later_adds + (n == 0 ? 0 : 1);
    for (std::size_t i = visit.range.begin; i < visit.range.end; ++i) {
      paths.rescales[i] = rescales;
      paths.roundings[i] += rescales + adds;
    }
    later_rises += visit.rises ? 1 : 0;
    ++later_adds;
  }
}

/// A key enters in a frame between its own chunk's maximum and the row's. Entered in the lowest it pays most: a frame above it
/// is that of a chunk that then no longer follows, so that a rescale becomes the exponential of a larger argument, which
/// errs by no more. (But for fl(f·ĉ), which is charged at the frame of largest magnitude.)
void walk_any_order(const ChunkPlan& smallest, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths) {
  const int joins = joins_after_lane(paths, arithmetic, lanes.lanes);
  paths.widest.resize(paths.size());
  const std::size_t most = std::min(paths.size(), static_cast<std::size_t>(smallest.chunks()));
  std::vector<KeyRange> chunks;  // those that are not empty
  std::vector<double> highs;     // the largest x of each
  chunks.reserve(most);
  highs.reserve(most);
  std::vector<int> in_lane(most * lanes.lanes, 0);  // keys of every lane, chunk after chunk
  std::vector<int> others(lanes.lanes, 0);  // additions that a chunk before or after costs a lane: its keys, or its sum
  std::size_t next = 0;
  for (int c = 0; c < smallest.chunks(); ++c) {
    const std::int64_t first = smallest.boundary[c];
    KeyRange chunk{next, next};
    while (next < paths.size() && paths.column[next] < smallest.boundary[c + 1]) ++next;
    chunk.end = next;
    if (chunk.begin == chunk.end) continue;
    double high = -kInfinity;
    const std::span<int> count = std::span(in_lane).subspan(chunks.size() * lanes.lanes, lanes.lanes);
    for (std::size_t i = chunk.end; i-- > chunk.begin;) {
      high = std::max(high, paths.x[i]);
      paths.roundings[i] = ++count[lanes.of(paths.column[i], first)];
    }
    for (int lane = 0; lane < lanes.lanes; ++lane) others[lane] += std::max(1, count[lane]);
    chunks.push_back(chunk);
    highs.push_back(high);
  }
  const std::vector<int> above = larger_count(highs);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const KeyRange& chunk = chunks[c];
    const double frame = highs[c], widest = std::fabs(paths.max) > std::fabs(frame) ? paths.max : frame;
    const std::span<const int> count = std::span(in_lane).subspan(c * lanes.lanes, lanes.lanes);
    for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
      const std::size_t lane =
          lanes.of(paths.column[i], 0);  // of every chunk: boundaries are whole rounds of the lanes
      paths.entry[i] = frame;
      paths.widest[i] = widest;
      paths.rescales[i] = above[c];
      // Its own chunk's sum is added to the running one, or by the next join.
      paths.roundings[i] += others[lane] - std::max(1, count[lane]) + joins + above[c] + 1;
    }
  }
}

}  // namespace flashproof::bound
