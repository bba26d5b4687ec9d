// What cases differ in besides their numbers: sizes, storage, features and the plan. A dimension is an integer that is
// measured on a problem, and its range in levels; that every pair of levels of two dimensions is drawn is what
// coverage_table.h counts and the family `pairs` (pairs.cc) makes sure of. Difficulty (difficulty.h) says how hard the
// numbers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "reference/problem/problems.h"

namespace flashproof {

struct Level {
  std::string_view name;
  std::int64_t lo, hi;
};

struct Dimension {
  std::string_view name;
  std::span<const Level> levels;  // ascending, disjoint
  std::span<const std::int64_t>
      values;  // sizes that are drawn one by one: thresholds of kernels, one less and one more
  std::int64_t (*measure)(const Problem& problem);

  /// -1: none of them.
  int level_of(std::int64_t number) const;
  int level(const Problem& problem) const { return level_of(measure(problem)); }
};

std::span<const Dimension> dimensions(ProblemKind problem);
/// The same as of ProblemKind::backward.
std::span<const Dimension> gradient_dimensions();

/// Places in dimensions().
enum SoftmaxAxis : std::uint8_t {
  kSoftmaxRows,
  kSoftmaxColumns,
  kSoftmaxChunk,
  kSoftmaxChunks,
  kSoftmaxOrder,
  kSoftmaxLengths,
  kSoftmaxLayout,
  kSoftmaxAxes
};
enum MergeAxis : std::uint8_t {
  kMergeStates,
  kMergeRows,
  kMergeWidth,
  kMergeForm,
  kMergeSums,
  kMergeTree,
  kMergeOrder,
  kMergeEmpty,
  kMergeLayout,
  kMergeAxes
};
enum AttentionAxis : std::uint8_t {
  kCausal,
  kWindow,
  kBias,
  kAlibi,
  kSoftcap,
  kSink,
  kDescale,
  kKeyFormat,
  kPacked,
  kPage,
  kLayout,
  kLengths,
  kHeads,
  kBatch,
  kQueries,
  kTiles,
  kKeys,
  kDim,
  kValueDim,
  kChunk,
  kChunks,
  kOrder,
  kScale,
  kSign,
  kAttentionAxes
};

/// Of a gradient: what it has of attention's, in this order, and behind them its own.
inline constexpr AttentionAxis kOfForward[] = {kCausal,  kWindow, kBias, kAlibi, kLayout,   kLengths, kHeads, kBatch,
                                               kQueries, kTiles,  kKeys, kDim,   kValueDim, kScale,   kSign};
enum GradientAxis : std::uint8_t {
  kGradientMode = std::size(kOfForward),
  kOutputFormat,
  kOutputLayout,
  kLseLayout,
  kOutputGradient,
  kGradientAxes
};
/// Where an axis of attention stands among the dimensions of this problem, attention or its gradient; one that the gradient does not
/// have: kGradientAxes.
constexpr std::size_t axis_of(ProblemKind problem, AttentionAxis axis) {
  if (problem != ProblemKind::backward) return axis;
  for (std::size_t i = 0; i < std::size(kOfForward); ++i) {
    if (kOfForward[i] == axis) return i;
  }
  return kGradientAxes;
}

/// Levels of the axes that are choices.
enum : std::uint8_t { kForward, kReverse, kPermuted };
enum : std::uint8_t { kDense, kPadded, kTransposed };
enum : std::uint8_t { kNoLengths, kRagged, kSomeEmpty };
enum : std::uint8_t { kOneHead, kOwnHeads, kGroups, kSharedHead };
enum : std::uint8_t { kSameFormat, kE4m3fn, kE5m2 };

/// Queries of a tile of the scalar attention kernels: what a work list counts.
inline constexpr std::int64_t kTileQueries = 16;

}  // namespace flashproof
