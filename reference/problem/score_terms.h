// What is added to the capped score of a key, in the order in which kernels add: the one list of readers that take a score at a time,
// in floats, intervals or exact numbers. Those that take many at once have loops of their own (the tiers fp64 and double_double, the
// bound).
#pragma once

#include <cstdlib>

#include "reference/problem/forward.h"

namespace flashproof {

/// visit(value, times) for each number value·times (24 and 31 bits: exact in a double pair) that a key at this distance of its query
/// adds to a score of sequence s and query head h.
template <class Visit>
void for_each_distance_term(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t distance,
                            Visit&& visit) {
  if (p.has_alibi()) visit(-p.alibi.at({s, h}), std::abs(distance));
}

/// A problem in which distances add nothing.
inline void without_distances(AttentionProblem& p) { p.alibi = {}; }

/// The same for query i and key j, the bias first.
template <class Visit>
void for_each_added_term(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j,
                         Visit&& visit) {
  if (p.has_bias()) visit(p.bias.at({s, h, i, j}), std::int64_t{1});
  for_each_distance_term(p, s, h, p.distance(s, i, j), visit);
}

/// Their sum, in doubles.
inline double added_to_score(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i,
                             std::int64_t j) {
  double sum = 0;
  for_each_added_term(p, s, h, i, j,
                      [&](double value, std::int64_t times) { sum += value * static_cast<double>(times); });
  return sum;
}

}  // namespace flashproof
