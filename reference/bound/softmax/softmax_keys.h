// Loops over the keys of a softmax row, one key at a time; softmax_keys-inl.h has eight. charge_key() is of rows whose exponents
// telescope (README.md, section 1), sum_key() of any.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

/// H and Z of README.md, section 1, where every score is exact, and what a key's own exponential has of H.
struct PathCosts {
  double max;                    // of the row
  double entry_gap, entry_rest;  // of an exponential with an argument that is not 0: per unit of it, and beside that
  double constant;               // error of the constant log2 e per unit of an argument
  double slope, exponential;     // of the path: per unit, and of every exponential on it
  double deepest;                // from this path on an exponential may be subnormal
  double lost, error;            // and then each loses so much, times e^error for every one on the path: 2 ε
};

struct PathKeys {
  const double *x, *entry;          // entry: the frame of its exponential
  const int *rescales, *roundings;  // of the sum
  double *own, *constant;           // log units: of the exponential that enters; of the constant on all the path
  double *exponent, *lost, *denominator, *own_of_sum;  // of Leaves
};

inline void charge_key(const PathCosts& costs, const PathKeys& keys, std::int64_t j) {
  const double gap = keys.entry[j] - keys.x[j];
  const double below = costs.max - keys.x[j];
  const double exps = keys.rescales[j] + (gap == 0 ? 0 : 1);  // x − x is 0 and its exponential 1
  const double own = gap == 0 ? 0 : costs.entry_gap * gap + costs.entry_rest;
  const double exponent = (costs.slope * below + exps * costs.exponential) * kSlack;
  keys.own[j] = own;
  keys.constant[j] = costs.constant * below;
  keys.exponent[j] = exponent;
  keys.lost[j] = below + exponent >= costs.deepest ? exps * costs.lost * (1 + growth(costs.error * exps)) : 0;
  keys.denominator[j] = roundings(keys.roundings[j]);
  keys.own_of_sum[j] = std::min(std::max(0.0, own - costs.constant * gap), exponent);  // the constant is no key's own
}

struct SummedKeys {
  const double *p, *q, *own_of_sum, *exponent, *denominator, *constant;
  double* constant_growth;  // e^constant − 1
};

struct KeySums {
  double denominator = 0;                  // Σ p G
  double shared = 0;                       // max exponent − own
  double largest_own = 0;                  // max p (e^own_of_sum − 1)
  double constant = 0, most_constant = 0;  // of constant_growth: Σ (p + q) of it, and its largest
};

inline void sum_key(const SummedKeys& keys, std::int64_t j, KeySums& sums) {
  const double grown = growth(keys.constant[j]);
  keys.constant_growth[j] = grown;
  sums.denominator += keys.p[j] * keys.denominator[j];
  sums.shared = std::max(sums.shared, keys.exponent[j] - keys.own_of_sum[j]);
  sums.largest_own = std::max(sums.largest_own, keys.p[j] * growth(keys.own_of_sum[j]));
  const double weight = keys.p[j] + keys.q[j];
  sums.constant += weight == 0 ? 0 : weight * grown;  // grown may be inf
  sums.most_constant = std::max(sums.most_constant, grown);
}

namespace kernels {

/// The same of the keys [0, n), n a multiple of 8. charge_keys(): costs.error times the exponentials of a key at most kSmallLog.
void charge_keys(const PathCosts& costs, const PathKeys& keys, std::int64_t n);
void sum_keys(const SummedKeys& keys, std::int64_t n, KeySums& sums);

}  // namespace kernels
}  // namespace flashproof::bound
