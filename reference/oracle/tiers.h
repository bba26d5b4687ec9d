// The tiers behind oracle.h: valid problem in, rows of truth out. Output rows are numbered as in problems.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "reference/oracle/threads.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Which part made the radius of a row wide, relative to what it does to the output: that decides the next tier.
struct RowCause {
  double score_error = 0;  // largest absolute error of a score with a weight above 0 (nats); +inf: no radius was found
  bool scores_dominate = false;  // more of the widest radius comes from the scores than from exp, sums and division
};

/// True if this CPU can run the fp64 tier (AVX2 and FMA).
bool has_fp64_tier();

/// The rows listed (ascending), in that order: truth row p is output row rows[p]. Truth is sized here. cause has one entry
/// per row. Rows whose radius the tier cannot bound get radius +inf and keep their right class.
void fp64_tier(const Problem& problem, std::span<const std::int64_t> rows, const Threads& threads, Truth& truth,
               std::span<RowCause> cause);

/// One row at a time; keeps what the rows of one head share. Not thread-safe.
class RowTier {
 public:
  virtual ~RowTier() = default;
  /// tier: dd_scores or dd for the first maker, exact for the second, which takes bits = 128 .. kMaxBits.
  virtual RowBalls row(std::int64_t row, Tier tier, int bits) = 0;
};
/// Attention without softcap, merge and softmax. dd_scores is for attention only.
std::unique_ptr<RowTier> double_double_tier(const Problem& problem);
bool has_double_double_tier(const Problem& problem);
/// Every problem. Rigorous from the first precision on; a radius the precision cannot bound is +inf.
std::unique_ptr<RowTier> exact_tier(const Problem& problem);
/// What one exact tier and one row of it allocate at kMaxBits, in bytes, from above: 482 per key of attention (948 with
/// a softcap), 576 per column of softmax, 1.3 kB per column of v, and the intervals of at most 8,192 keys (9.6 MB, twice
/// that with a softcap).
std::int64_t exact_tier_bytes(const Problem& problem);

}  // namespace flashproof
