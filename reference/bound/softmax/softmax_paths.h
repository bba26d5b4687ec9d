// How every key of a softmax row gets into the sum of weights: README.md, "Counts". Scores are the inputs, so every
// maximum is exact and the counts are the kernel's own, not bounds.
#pragma once

#include <vector>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

/// chunk_states: what becomes of the chunks on their own.
struct ChunkState {
  double max = 0;
  double sum = 0;     // d_i, evaluated in double
  int roundings = 0;  // of the combination: products and additions after the state
};

/// By key that is visible and not −inf: a column of numbers each, for loops over a thousand keys.
struct SoftmaxPaths {
  std::vector<std::int64_t> column;
  std::vector<double> x;
  std::vector<double> entry;   // the frame in which its exponential is taken; x itself: the argument is 0
  std::vector<int> rescales;   // factors below 1 after that
  std::vector<int> roundings;  // of the sum alone: rescaling products and additions
  std::vector<double> widest;  // visits any: of largest magnitude among the frames in which it may be taken
  std::vector<int> chunk;      // chunk_states: position of its state among those that are not empty
  std::vector<ChunkState> chunks;
  double max = 0;

  std::size_t size() const { return x.size(); }
  double widest_frame(std::size_t j) const { return widest.empty() ? entry[j] : widest[j]; }
};

/// How columns are dealt to lanes: `lanes` resolved, a power of two, and as many neighbours at a time.
struct Lanes {
  int lanes = 1;
  std::int64_t deal = 1;

  std::size_t of(std::int64_t column,
                 std::int64_t first) const {  // for every key: no division where there need be none
    const std::int64_t run = deal == 1 ? column - first : (column - first) / deal;
    return static_cast<std::size_t>(run) & static_cast<std::size_t>(lanes - 1);
  }
};

/// `x`: the whole row, −inf where nothing is visible; some number in it.
SoftmaxPaths softmax_paths(const SoftmaxProblem& problem, const Arithmetic& arithmetic, const std::vector<double>& x,
                           const Lanes& lanes);

/// Indices of the keys whose columns lie in [first, last).
struct KeyRange {
  std::size_t begin, end;
};
KeyRange keys_between(const SoftmaxPaths& paths, std::int64_t first, std::int64_t last);

/// Additions that follow a key's sum in its lane: butterfly and fold, or lane_joins where that is more; never more than
/// there are other keys in the row then, because an addition of 0 is exact.
int joins_after_lane(const SoftmaxPaths& paths, const Arithmetic& arithmetic, int lanes);

// The walks behind it. Each fills in entry, rescales and roundings.
void walk_strided_online(const Lanes& dealt, SoftmaxPaths& paths);
void walk_chunked_online(const ChunkPlan& plan, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths);
/// chunked_online and chunked_local, whatever the order of the plan's chunks, and whichever neighbours are one chunk.
void walk_any_order(const ChunkPlan& smallest, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths);
/// The keys of one chunk in the frame given, all their additions up to d̃ counted: lane sums over columns first, first +
/// 1, ..., then butterfly and fold. The first key of a lane is added to 0.
void charge_lanes(SoftmaxPaths& paths, KeyRange range, std::int64_t first, const Lanes& lanes,
                  const Arithmetic& arithmetic, double frame);
void walk_two_pass(const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths);
void walk_chunked_local(const ChunkPlan& plan, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths);
void walk_chunk_states(const ChunkPlan& plan, const Arithmetic& arithmetic, const Lanes& lanes, SoftmaxPaths& paths);

}  // namespace flashproof::bound
