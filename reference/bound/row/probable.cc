#include "reference/bound/row/probable.h"

#include <algorithm>
#include <cmath>

namespace flashproof::bound {

// ô − o = (X_w + X_n − o X_g + rest)/(1 + Y) + second order of the denominator (README.md, "Probable"): the three X are
// sums of centred roundings, joined under one root; 1 + Y >= low.
void add_probable(const RowModel& row, const RowWeights& weights, const ColumnSums& sums, ElementBound& bound) {
  const double g = std::max(weights.denominator, weights.denominator_up);
  const bool random_denominator = weights.denominator_square > 0;
  const double magnitude = sums.magnitude();
  const double centred = sums.own_square + sums.numerator_own_square + row.numerator_square * sums.size * sums.size +
                         weights.denominator_square * magnitude * magnitude;
  const double first = kLambda * std::sqrt(centred) + sums.coherent + sums.numerator_rest +
                       (random_denominator ? weights.denominator_rest * magnitude : 0);
  const double absolute = (sums.lost + row.numerator_underflow) / weights.sum;
  const double moved = bound.weights + bound.numerator;
  const double denominator = (random_denominator ? weights.denominator_absolute : g) * magnitude + g * moved +
                             g * g / (1 - g) * (magnitude + moved);
  const double probable = (first / weights.low + absolute + denominator) * kSlack + bound.output;
  const double total = bound.total();
  bound.probable = g < 1 && probable < total ? probable : total;  // a NaN counts as total
  const double drift = row.drift * sums.numerator / weights.low * kSlack;
  bound.drift = drift < bound.probable ? drift : bound.probable;
  if (row.drift == 0) bound.drift = 0;
  bound.size = sums.size;
}

// lse − λ = (the frame) + ln(1 + Y + X_g + …), and |ln(1 + y)| <= −ln(1 − |y|).
void add_probable_lse(const RowWeights& weights, ElementBound& bound) {
  const double total = bound.total();
  const double y =
      (kLambda * std::sqrt(weights.own_square + weights.denominator_square) + weights.coherent +
       (weights.denominator_square > 0 ? weights.denominator_rest + weights.denominator_absolute * weights.up
                                       : std::max(weights.denominator, weights.denominator_up) * weights.up)) *
      kSlack;
  const double probable = y < 1 ? weights.frame - std::log1p(-y) * kSlack + bound.output : total;
  bound.probable = probable < total ? probable : total;
  bound.size = std::fabs(weights.lse);
}

}  // namespace flashproof::bound
