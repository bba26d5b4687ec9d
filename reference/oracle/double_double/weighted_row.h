// From scores to balls: the part that softmax, merge and attention share. Derivations: README.md.
#pragma once

#include <span>

#include "reference/oracle/double_double/kernels.h"
#include "reference/oracle/truth.h"

namespace flashproof {

/// The weights of one row, relative to that of its largest score, and their sum.
struct WeightSum {
  std::int64_t top = 0;   // its position; its weight is 1
  DD m;                   // its score: lse = m + log(total)
  double shift = 0;       // |m − exact score of top|, where that is counted in m and not in the weights
  DD total;               // L
  double slack = 0;       // r_L: roundings of the sum
  double others = 0;      // Σ rho but of top
  double top_radius = 0;  // rho of top
  double low = 0;         // L is at least this; <= 0 if nothing is known
  // Of a ratio, unless exact. Products of weights (>= 2^-808 in hi) and values (>= 2^-149) may lose bits below 2^-1074,
  // a few times per key.
  double underflow = 0x1p-1000;
  bool exact = true;  // every weight is exactly 0 or 1
};

/// Replaces the scores by weights; at least one position is not hidden. roundings < 0: in DD, else dd_scores with
/// h_N = roundings.
WeightSum weigh(RowNumbers& row, double roundings, const DdTerms& terms);

/// The same in DD for exact scores (errors 0) of which number p counts factor[p] times in L, an f32 above 0. One factor per
/// position; those of hidden positions are multiplied by 0 and must be finite.
WeightSum weigh(RowNumbers& row, std::span<const double> factor, const DdTerms& terms);

/// (numerator + δ) / L, |δ| <= slack, where the key `top` has the value top_value in the numerator.
Ball ratio_ball(DD numerator, double slack, double top_value, const WeightSum& sum, const DdTerms& terms);
/// The weight at this position, which counts `factor` times in L, over L.
Ball share_ball(const RowNumbers& row, std::int64_t position, double factor, const WeightSum& sum,
                const DdTerms& terms);
/// share·value, for a value of f32.
Ball scaled_ball(const Ball& share, double value, const WeightSum& sum, const DdTerms& terms);
Ball lse_ball(const WeightSum& sum, const DdTerms& terms);

/// One ball per column of sums, dv of them; top_value(c) as in ratio_ball.
template <class TopValue>
void column_balls(const ColumnSums& sums, const WeightSum& weights, const DdTerms& terms, TopValue top_value,
                  std::vector<Ball>& balls) {
  for (std::size_t c = 0; c < balls.size(); ++c) {
    const double slack = terms.pv * 2 * kU * sums.slack[c] + sums.spread[c];
    balls[c] = ratio_ball(two_sum(sums.hi[c], sums.lo[c]), slack, top_value(c), weights, terms);
  }
}

}  // namespace flashproof
