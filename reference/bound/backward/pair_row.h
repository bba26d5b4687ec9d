// One query row on the way to its pairs: the keys it sees, their P, and its D. Private to pairs.cc and to the files that make
// these parts: pair_weights.cc, pair_delta.cc.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bound/backward/pair_costs.h"
#include "reference/bound/score_units.h"

namespace flashproof::bound {

inline constexpr double kD = 0x1p-52;  // twice the unit roundoff of double

/// 0 · inf = 0: of a bound that may be infinite and a factor that is exactly 0.
inline double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/// Errors are upper bounds; slops are those of the evaluation here.
struct PairKey {
  std::int64_t row = 0;
  Nats score, score_slop;
  Nats score_error;  // of the computed x̂, in units of s; the slop included
  double reach = 0;  // of every number on the way to x̂ and to the exponential's argument, whatever it counts
  DotSums dp;        // dP
  // Of a key with a weight:
  Nats x, slop;  // s − λ, and the error of evaluating it (and e^x, relative)
  Nats h;        // log-weight error of this key alone
};

struct PairRow {
  std::int64_t row = 0;
  backward::View::Row at{};
  std::vector<PairKey> keys;  // those with a weight
  Nats lse, lse_slop;         // λ
  Nats given;                 // Λ
  Nats common;                // κ: the log-weight error that all keys share
};

/// Of one key, everything from above.
struct PairWeights {
  double p = 0, error = 0, computed = 0;             // P, |P̂ − P| and P̂
  double lost = 0;                                   // by the storage of P
  double ds_own = 0, ds_error = 0, ds_computed = 0;  // as dS reads P̂; own: without the row's common factor
};

/// D_i, its slop, the error of D̂_i, and the largest number on the way to it.
struct RowDelta {
  double value = 0, slop = 0, error = 0, reach = 0;
};

/// Key j of a row: scores and dP alone, no weight.
PairKey key_of(const PairCosts& costs, std::int64_t row, const backward::View::Row& at, std::int64_t j);
PairRow pair_row(const PairCosts& costs, std::int64_t row);
PairWeights weights_of(const PairCosts& costs, const PairRow& row, const PairKey& key);

/// dP̂ before D̂ is subtracted: the products' error, its storage, and the rounding of P̂·dP̂ where the difference is taken
/// of products.
double dp_error_of(const PairCosts& costs, const PairKey& key);
RowDelta delta_of(const PairCosts& costs, const PairRow& row);

}  // namespace flashproof::bound
