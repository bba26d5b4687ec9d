#include "reference/oracle/exact/weighted_sum.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/gmp.hpp>
#include <cmath>

#include "reference/problem/random.h"

namespace flashproof {
namespace {

using Integer = boost::multiprecision::mpz_int;

/// x · 2^-unit, by frexp instead of the bits.
Integer scaled(double x, long unit) {
  int exponent = 0;
  const Integer significand = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  const long shift = exponent - 53 - unit;
  return shift >= 0 ? Integer(significand << shift) : Integer(significand >> -shift);
}

double random_value(Random& random, Format format) {
  for (;;) {
    const double x = decode(format, random.next_u32() & (2 * sign_bit(format) - 1));
    if (std::isfinite(x)) return x;
  }
}

Integer random_below(Random& random, int bits) {
  Integer x = 0;
  for (int i = 0; i < bits; i += 32) x = (x << 32) + random.next_u32();
  return x >> static_cast<unsigned>((bits + 31) / 32 * 32 - bits + random.integer(0, bits / 2));
}

TEST(WeightedSum, AgreesWithIntegersOverTheWholeRange) {
  Random random(1, 6);
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    for (const int bits : {84, 192, 320, 4160}) {
      WeightedSum sum(format, 3, bits);
      Integer expected[3];
      for (int term = 0; term < 60; ++term) {
        const Integer weight = random_below(random, bits);
        for (std::size_t c = 0; c < 3; ++c) {
          const double value = random_value(random, format);
          sum.add(weight.backend().data(), c, dyadic(value));
          expected[c] += weight * scaled(value, sum.unit_exponent());
        }
      }
      for (std::size_t c = 0; c < 3; ++c) {
        Integer result;
        sum.get(c, result.backend().data());
        ASSERT_EQ(result, expected[c]) << info(format).name << ' ' << bits;
      }
    }
  }
}

TEST(WeightedSum, TheLargestTermsFitAndCancel) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    const double largest = info(format).max_finite;
    for (int bits = 130; bits < 200; ++bits) {  // every position in a limb
      WeightedSum sum(format, 1, bits);
      const Integer weight = (Integer(1) << bits) - 1;
      const double least = min_subnormal(format);
      Integer expected = 0;
      for (const double value : {largest, largest, -largest, largest, least, -largest, -largest}) {
        sum.add(weight.backend().data(), 0, dyadic(value));
        expected += weight * scaled(value, sum.unit_exponent());
      }
      Integer result;
      sum.get(0, result.backend().data());
      ASSERT_EQ(result, expected) << bits;
      ASSERT_EQ(result, weight);  // all but 2^unit cancels
    }
  }
}

}  // namespace
}  // namespace flashproof
