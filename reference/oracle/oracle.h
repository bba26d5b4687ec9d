// The certified oracle: exact real functions of the stored inputs, as value and radius, as fast as the question allows.
//
//   symbolic         special values, decided from the inputs alone
//   fp64             every row, with a rigorous radius (fp64/)
//   dd_scores, dd    rows whose radius was too wide: double-double (double_double/)
//   exact            exact scores, MPFI intervals of doubling precision up to kMaxBits (exact/)
//
// A row climbs only as far as a caller asks: the judge while a verdict is open (Oracle::row), or narrow_truth until every
// radius is at most 2^-12 ulp of a format. Where a row goes next depends on which part of its radius dominates.
// Derivations: README.md beside this file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

inline constexpr int kMaxBits = 4096;

struct OracleOptions {
  int threads = 1;                                    // of the fp64 tier and of narrow_truth; any number, same bits
  std::int64_t memory_limit = std::int64_t{8} << 30;  // bytes; a problem that needs more is refused with the figure
};

class Oracle {
 public:
  /// Computes the first tier of every row. The problem must outlive the oracle. Throws UsageError if the problem is not
  /// valid, or would need more memory than the limit; InfrastructureError if the thread does not compute IEEE doubles.
  explicit Oracle(const Problem& problem, OracleOptions options = {});
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  /// symbolic or fp64 rows. A CPU without AVX2 and FMA has no fp64 tier: then rows start as exact at 128 bits.
  const Truth& truth() const;

  /// The row one step further up at each level: level 1 follows truth(). A pure function of (problem, row, level). Null
  /// past the last level (exact at kMaxBits), and for symbolic rows. Kept for the next who asks; what is returned is
  /// good until the next call. Not thread-safe.
  const RowBalls* row(std::int64_t row, int level);
  /// How many rows row() had to compute.
  std::int64_t climbed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Is the ball at most 2^-12 ulp of `format` wide at its value? The spacing of the subnormals is the least; a ball whose
/// class is not finite is.
bool narrow_enough(const Ball& ball, Format format);

/// Stored truth: every o and lse narrow_enough for `format`, each row from the cheapest tier that gets there. What is
/// not at kMaxBits is counted in Truth::inconclusive (the radius holds all the same).
Truth narrow_truth(const Problem& problem, Format format, OracleOptions options = {});

/// narrow_truth for f32.
Truth compute_truth(const Problem& problem, OracleOptions options = {});

/// narrow_truth of each: the threads share out the problems, and the rows of the problems left over when there are fewer
/// than threads. The memory limit is for all of them together.
std::vector<Truth> compute_truths(std::span<const Problem> problems, Format format, OracleOptions options = {});

/// What Oracle or narrow_truth would allocate for this valid problem, in bytes, from above.
std::int64_t memory_needed(const Problem& problem, const OracleOptions& options);

}  // namespace flashproof
