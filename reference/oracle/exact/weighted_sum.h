// Σ_j W_j v_jc for many columns c, exactly: W_j a non-negative integer, v_jc a number of any format but f64, the sums in
// fixed point with the format's smallest subnormal as the unit. No matrix of big integers is ever built: a value is
// read from its tensor when its turn comes.
#pragma once

#include <gmp.h>

#include <cstddef>
#include <vector>

#include "reference/oracle/exact/exact_score.h"
#include "reference/problem/formats.h"

namespace flashproof {

class WeightedSum {
 public:
  /// Every weight is below 2^weight_bits, there are at most 2^31 of them.
  WeightedSum(Format format, std::size_t columns, int weight_bits);
  void add(mpz_srcptr weight, std::size_t column, Dyadic value);
  /// The sum is integer·2^unit_exponent().
  void get(std::size_t column, mpz_ptr integer) const;
  long unit_exponent() const { return unit_; }

  /// Of all sums together.
  static std::int64_t bytes(Format format, std::int64_t columns, int weight_bits);

 private:
  long unit_;
  std::size_t limbs_;
  // Per column the sum of the positive terms, then that of the negative ones: no borrows.
  std::vector<mp_limb_t> sum_;
};

}  // namespace flashproof
