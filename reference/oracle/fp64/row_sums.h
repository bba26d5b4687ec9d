// What the weights of one row add up to, and the radii that follow: the scalar half of row_weights-inl.h. Derivation:
// README.md, "Softmax".
#pragma once

#include <cstdint>
#include <limits>

#include "reference/oracle/fp64/terms.h"
#include "reference/oracle/tiers.h"

namespace flashproof::rows64 {

inline constexpr std::int64_t kVirtualLanes = 8;
inline constexpr std::int64_t kBlock = 16 * kVirtualLanes;  // scores between two steps of the tree
inline constexpr int kTreeLevels = 25;                      // 2^31 scores (kMaxExtent) are 2^24 blocks

inline constexpr double kUnit = 0x1p-53;         // u
inline constexpr double kSlack = 1 + 0x1p-30;    // the roundings of the radii themselves, and what is second order
inline constexpr double kUnderflow = 0x1p-1019;  // > e^-707, the bound of a weight that is taken for 0
// What underflows on the way to an output, and what that does to its radius: README.md counts the roundings.
inline constexpr double kTiny = 0x1p-1060;

/// Roundings on the longest path from one of n terms to their sum: a chain of the 16 numbers of each lane of a block, the
/// tree of the blocks, then the lanes. Adding 0 rounds nothing, so `weighted` numbers that are not 0 make at most
/// weighted − 1 roundings in all.
std::int64_t sum_roundings(std::int64_t n, std::int64_t weighted);

inline constexpr std::int64_t kMergeGroup = 32;  // states of a merge whose terms are added in one chain
/// Roundings on the longest path from a term of N = Σ w_s v_s to the sum: a chain over the first kMergeGroup states, which
/// begins with the largest (w = 1: exact), or over a later group, which begins with 0, then one addition per later group.
/// A weight of 0 rounds nothing, nor does a group of them.
std::int64_t value_roundings(std::int64_t visible, std::int64_t weighted);

struct Lse {
  double value, radius;
};

struct RowSums {
  bool poisoned = false;                                // a score is NaN or +inf
  double m = -std::numeric_limits<double>::infinity();  // the largest score; −inf: none is visible
  std::int64_t weighted = 0;                            // weights above 0
  double total = 0;                                     // L
  double total_radius = 0;                              // R_L >= |L − Σ e^(x_j − m)|
  double score_error = 0;                               // largest e_j of a weight above 0

  /// radius_sum: Σ ρ_j as computed.
  void finish(std::int64_t n, double radius_sum, const SoftmaxTerms& terms);
  Lse lse(const SoftmaxTerms& terms) const;
  /// False: no visible key, or a score that is NaN or +inf. Both are decided symbolically.
  bool has_numbers() const;
  /// Scores that are inputs never dominate: e_j <= u|x_j − m|, and Σ w_j |x_j − m| <= L log(weighted) (entropy), which is
  /// at most L times the depth of any tree over as many numbers. So Σ w_j e_j <= h_L u L, the claim of the sum.
  RowCause cause() const { return {.score_error = score_error, .scores_dominate = false}; }
};

}  // namespace flashproof::rows64
