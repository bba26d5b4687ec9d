// Smaller problems than one that fails, for a search for the smallest that still does: RapidCheck (properties/driver)
// and the minimiser of findings.
//
// Structure first (rows, keys, states, heads, dimensions, features, chunks), then numbers: few distinct ones, powers of
// two, zeros, exponents near 0. Every candidate is valid and strictly simpler than what it was made of, so shrinking ends.
//
// The o and lse of a gradient are those of the forward problem that is left, as an ideal forward kernel stores them: they count
// for nothing, and are computed once a candidate is known to be simpler.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

/// Smaller is simpler; compared field by field.
struct Complexity {
  std::uint64_t elements = 0;     // of all input tensors, with their gaps; not of the o and lse of a gradient
  std::uint64_t structure = 0;    // features, chunks, visiting order, lengths, a scale that is not 1, a tree
  std::uint64_t distinct = 0;     // numbers
  std::uint64_t significant = 0;  // set bits of all significands: 0 for powers of two
  std::uint64_t nonzero = 0;      // elements
  std::uint64_t exponents = 0;    // sum of |e| of all numbers ±f·2^e, 1 <= f < 2: 0 for 1 and −1

  auto operator<=>(const Complexity&) const = default;
};
Complexity complexity(const Problem& problem);

/// One problem that may be simpler; made only when called, from the problem that it was asked for (which must live).
using Candidate = std::function<Problem()>;

/// In the order to try them: the boldest first. Some may come out invalid or no simpler.
std::vector<Candidate> structure_candidates(const Problem& problem);
std::vector<Candidate> number_candidates(const Problem& problem);

std::vector<Candidate> candidates(const Problem& problem);
/// What the candidate makes, if it is valid and simpler than `before`.
std::optional<Problem> simpler_problem(const Candidate& candidate, const Complexity& before);

/// Calls `use` for one valid and simpler problem after another, until it returns false or there are no more.
void for_each_simpler(const Problem& problem, const std::function<bool(Problem)>& use);

/// The simplest problem that the search finds for which `fails` is still true: greedy, at most `tries` calls of it, and none after
/// stop(). fails(problem) itself must be true.
Problem minimise(Problem problem, const std::function<bool(const Problem&)>& fails, int tries,
                 const std::function<bool()>& stop = {});

}  // namespace flashproof
