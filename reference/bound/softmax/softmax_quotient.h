// From a weight y = e^{x − m} / d to its bound: the numerator is computed afresh, so it errs independently of the sum.
// Derivation: README.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "reference/bound/costs.h"
#include "reference/bound/row/row_weights.h"

namespace flashproof::bound {

/// What the keys of a row share. Most of these are exponentials and logarithms: taken once.
struct QuotientCosts {
  double denominator = 0;     // of the sum's own roundings, relative
  double ending = 0;          // e^x − 1 of the ending's log units
  double ending_lost = 0;     // its underflow, absolute
  double flushed = 0;         // of an exponential that is subnormal, as a share of the sum
  double deepest = 0;         // from so far below the maximum it may be
  double flushed_result = 0;  // the storage rounding knows only gradual underflow
  // Chance.
  double largest_own = 0;  // one key's exponential moves the sum by its own share of it: the largest of these
  double shared = 0;       // e^x − 1 of what several keys share
  double rounding = 0;     // of one rounding
  double constant_mean = 0;

  /// A factor that many keys share moves the sum by at most all of it. `constant`: what the constant log2 e makes of it,
  /// which errs alike in the numerator and in every exponential of the sum.
  void add_chance(double constant, ElementBound& bound) const {
    Chance chance;
    if (bound.size > 0) chance.certain((constant + constant_mean) * bound.size);
    chance.add((largest_own + shared) * bound.size, bound.weights);
    chance.add(bound.numerator, bound.numerator);
    chance.add(rounding * bound.size, bound.denominator);
    chance.add(bound.output, bound.output);
    bound.probable = chance.probable(bound.total());
  }
};

/// How the computed sum moves y: too small a sum makes it too large by y (most − 1), too large a one too small by
/// y (1 − least).
struct SumError {
  double most = 1;   // upper bound of the exact sum over the computed one
  double moved = 0;  // max(most − 1, 1 − least)
};

struct QuotientKey {
  double log_y, y, slop;  // slop: |y − exact|
  double own;             // log units, of the exponential that becomes y
  double path;            // how far below the frame it is taken, at most
  double constant;        // e^x − 1 of the constant's part of its path
};

inline ElementBound quotient(const QuotientCosts& costs, const SumError& sum, const QuotientKey& key) {
  const double flushed = key.path + key.own > costs.deepest ? costs.flushed : 0;
  double alone = 0;  // e^x below kVanished is 0, and slow
  if (key.own < 1) {
    alone = key.y * growth(key.own);
  } else if (!(key.log_y + key.own < kVanished)) {
    alone = scaled_expm1(key.log_y, key.own);
  }
  const double finite = std::numeric_limits<double>::max();  // no rounding of inf is inf · 0
  ElementBound bound;
  bound.size = key.y;
  bound.weights = ((key.y == 0 ? 0 : key.y * sum.moved) + key.slop) * kSlack;  // a share may be inf
  bound.numerator = ((alone == 0 ? 0 : alone * sum.most) + flushed) * kSlack;
  const double divided = std::min(key.y + bound.weights + bound.numerator, finite);
  bound.denominator = costs.denominator < finite ? costs.denominator * divided : costs.denominator;
  const double stored = key.y + bound.weights + bound.numerator + bound.denominator;
  const double relative = costs.ending == 0 || stored == 0 ? 0 : costs.ending * stored;
  bound.output = (relative + costs.ending_lost) * kSlack + costs.flushed_result;
  costs.add_chance(key.constant, bound);
  return bound;
}

/// The keys of one row whose sum is one, in the frame of the maximum.
struct QuotientRow {
  QuotientCosts costs;
  SumError sum;
  double max = 0, log_sum = 0;
  double common = 0;         // error of the frame, log units
  double gap = 0, size = 0;  // own error: ArgumentCosts
  double rest = 0;           // of a key below the maximum
  double rest_at_max = 0;
  // By key.
  const double *x, *y, *slop, *constant;
  const std::int64_t* column;

  QuotientKey key(std::int64_t j) const {
    const double below = max - x[j];
    const double own = gap * below + size * std::fabs(x[j]) + (below == 0 ? rest_at_max : rest);
    return {x[j] - max - log_sum, y[j], slop[j], own, max + common - x[j], constant[j]};
  }
};

namespace kernels {

/// quotient() of the keys [0, n), n a multiple of 8, into bounds[column[j]]: all eight of a group, or none of them where one
/// needs the general form. Groups left out are listed in `left`, by their first key; their number is returned.
std::int64_t quotients(const QuotientRow& row, std::int64_t n, ElementBound* bounds, std::int64_t* left);

}  // namespace kernels
}  // namespace flashproof::bound
