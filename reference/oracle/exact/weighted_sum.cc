#include "reference/oracle/exact/weighted_sum.h"

#include <cmath>
#include <cstdint>

#include "reference/oracle/environment_guard.h"

namespace flashproof {
namespace {

static_assert(GMP_NUMB_BITS == 64);

/// Exponent of the smallest subnormal: every finite value is a multiple of 2^it.
long lowest_exponent(Format format) { return info(format).min_exponent - info(format).precision + 1; }

/// |Σ| < 2^31 · 2^weight_bits · 2^(max_exponent + 1 − lowest exponent).
std::size_t limbs_for(Format format, int weight_bits) {
  const long value_bits = std::ilogb(info(format).max_finite) + 1 - lowest_exponent(format);
  return static_cast<std::size_t>((31 + weight_bits + value_bits) / GMP_NUMB_BITS + 1);
}

/// sum[0, n) += weight · factor; the carry runs to the end. n is large enough for the result.
void add_product(mp_limb_t* sum, std::size_t n, mpz_srcptr weight, mp_limb_t factor) {
  const std::size_t size = mpz_size(weight);
  const mp_limb_t carry = mpn_addmul_1(sum, mpz_limbs_read(weight), static_cast<mp_size_t>(size), factor);
  if (carry != 0) mpn_add_1(sum + size, sum + size, static_cast<mp_size_t>(n - size), carry);
}

}  // namespace

WeightedSum::WeightedSum(Format format, std::size_t columns, int weight_bits)
    : unit_(lowest_exponent(format)), limbs_(limbs_for(format, weight_bits)), sum_(2 * columns * limbs_, 0) {}

void WeightedSum::add(mpz_srcptr weight, std::size_t column, Dyadic value) {
  if (value.significand == 0 || mpz_sgn(weight) == 0) return;
  const bool minus = value.significand < 0;
  const auto magnitude = static_cast<std::uint64_t>(minus ? -value.significand : value.significand);  // below 2^24
  const long position = value.exponent - unit_;
  const auto first = static_cast<std::size_t>(position / GMP_NUMB_BITS);
  const int shift = static_cast<int>(position % GMP_NUMB_BITS);
  mp_limb_t* const sum = sum_.data() + (2 * column + (minus ? 1 : 0)) * limbs_ + first;
  add_product(sum, limbs_ - first, weight, magnitude << shift);
  const mp_limb_t high = shift == 0 ? 0 : magnitude >> (GMP_NUMB_BITS - shift);
  if (high != 0) add_product(sum + 1, limbs_ - first - 1, weight, high);
}

void WeightedSum::get(std::size_t column, mpz_ptr integer) const {
  const mp_limb_t* const sum = sum_.data() + 2 * column * limbs_;
  mpz_t positive, negative;
  mpz_sub(integer, mpz_roinit_n(positive, sum, static_cast<mp_size_t>(limbs_)),
          mpz_roinit_n(negative, sum + limbs_, static_cast<mp_size_t>(limbs_)));
}

std::int64_t WeightedSum::bytes(Format format, std::int64_t columns, int weight_bits) {
  return 2 * columns * static_cast<std::int64_t>(limbs_for(format, weight_bits) * sizeof(mp_limb_t));
}

}  // namespace flashproof
