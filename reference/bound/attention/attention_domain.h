// The preconditions of one row of attention (README.md, section 8).
#pragma once

#include <vector>

#include "reference/bound/attention/attention_paths.h"
#include "reference/bound/attention/attention_split.h"

namespace flashproof::bound {

inline constexpr const char* kScoreDomain = "scores and their partial sums below the f32 range";
inline constexpr const char* kRawDifferences = "differences of raw scores below the f32 range";
inline constexpr const char* kAccumulatorDomain = "un-normalised sums below the f32 range";

inline constexpr const char* kSeparatedAbove = "e^-m and its products below the f32 range: log of them";
inline constexpr const char* kSeparatedBelow = "e^-m above the subnormal range: m";

/// What the scores of a row have shown.
struct ScoreRange {
  Raw largest = {};   // magnitude formed on the way
  Nats natural = {};  // |s| at most
  Nats apart = {};    // of two scores, at most; of raw ones alone
  bool lost = false;  // a key that no mask hides has the score −inf: its dot product is infinite
};

/// Those of the scores alone: of dot products and of what makes a score of them. Appends.
void score_preconditions(const ScoreScale& scale, const ScoreRange& range, const Precondition& query,
                         std::vector<Precondition>& list);

/// Those that do not depend on v. `largest_sum`: of ln of the computed denominator. Appends.
void row_preconditions(const Arithmetic& arithmetic, const ScoreScale& scale, const ScoreRange& range,
                       const Precondition& query, const AttentionPaths& paths, const RowWeights& weights,
                       std::vector<Precondition>& list);

/// e^{m − λ̂} of an ending that does not divide; `above`: m − λ̂ at most.
inline constexpr const char* kFreeFactor = "e^(m - lse) below the f32 range: log of it";

/// Sums of p·v, and what is stored of them, by the largest |v| of a column.
struct AccumulatorRange {
  double sum = 1;     // the un-normalised sum is at most this times max |v|
  double stored = 0;  // and a part's result this; 0: no narrower, and no larger, than the sum
  double stored_limit = kF32Max;

  Precondition at(double largest_value) const;
};
/// `ended`: what the ending of a part and its combination may add to a mean of v, relative.
AccumulatorRange accumulator_range(const Arithmetic& arithmetic, const AttentionPaths& paths, double value_factor,
                                   double keys, double ended);

}  // namespace flashproof::bound
