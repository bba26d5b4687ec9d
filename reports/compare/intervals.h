// Distribution-free intervals for the ratio of two speeds: order statistics, with exact coverage for every number of
// repetitions. Nothing is assumed of the law of a time but what is said here; no normality, no variance.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace flashproof::compare {

/// HEAD's time over BASE's. With fewer repetitions than `needed` no interval has the coverage that was asked for: then
/// `possible` is false and only `ratio` is told.
struct RatioInterval {
  double ratio = 1, lower = 0, upper = 0;
  bool possible = false;
  std::size_t needed = 0;  // repetitions of each side, or rounds
};

inline constexpr std::size_t kMostRepetitions = 200;

/// Times of BASE and of HEAD, each in any order; 1..kMostRepetitions of each, all positive. Covers the factor theta with
/// probability at least 1 - alpha where the times of each side are independent and of one law, and HEAD's is BASE's times
/// theta. `ratio`: the median of all ratios (Hodges and Lehmann's estimate).
RatioInterval unpaired_interval(const std::vector<double>& base, const std::vector<double>& head, double alpha);

/// HEAD's over BASE's of rounds in which both ran one after the other. Covers the median of that ratio with probability at
/// least 1 - alpha where the rounds are independent; a drift of the machine that is slow against a round cancels.
RatioInterval paired_interval(std::vector<double> ratios, double alpha);

/// Does the second half of a series of repetitions differ from the first? Then they are not of one law, and
/// unpaired_interval() would be wrong. Told with probability at most alpha of a series that does not drift; never of one
/// that is too short for that.
bool drifts(const std::vector<double>& times, double alpha);

double median(std::vector<double> values);

/// P(U <= k), k = 0 .. up to the middle: the law of the number of pairs (i, j) with x_i > y_j where all orders of the
/// n + m values are equally likely.
const std::vector<double>& rank_law(std::size_t n, std::size_t m);
/// P(at most k of n fair coins show heads).
double coin_law(std::size_t n, std::size_t k);

}  // namespace flashproof::compare
