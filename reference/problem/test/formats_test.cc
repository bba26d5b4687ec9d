// Formats against an independent computation: exact rational arithmetic on Boost.Multiprecision integers, straight from
// the definition of rounding to nearest. Exhaustive for the 8- and 16-bit formats.
#include "reference/problem/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using boost::multiprecision::cpp_int;

constexpr Overflow kBothModes[] = {Overflow::ieee, Overflow::saturate};
constexpr Format kSmallFormats[] = {Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2};

/// Equal, where 0 and -0 differ and NaN equals NaN.
bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

/// The value a finite double must encode to, as a double: n · quantum for the integer n nearest to |x| / quantum.
double expected_value(Format format, double x, Overflow overflow) {
  const FormatInfo& f = info(format);
  if (std::isnan(x)) return x;
  double result = kInfinity;
  if (std::isfinite(x)) {
    int exponent = 0;  // |x| = fraction · 2^exponent with fraction in [1/2, 1)
    const double fraction = std::frexp(std::fabs(x), &exponent);
    const int quantum = std::max(exponent - 1, f.min_exponent) - (f.precision - 1);  // its logarithm
    cpp_int numerator = static_cast<std::int64_t>(std::ldexp(fraction, 53));  // |x| = numerator · 2^(exponent − 53)
    cpp_int denominator = 1;
    const int shift = exponent - 53 - quantum;
    (shift >= 0 ? numerator : denominator) <<= std::abs(shift);
    cpp_int n = numerator / denominator;
    const cpp_int twice = 2 * (numerator - n * denominator);
    if (twice > denominator || (twice == denominator && n % 2 == 1)) ++n;
    result = std::ldexp(n.convert_to<double>(), quantum);  // exact: n has at most 53 bits; an f64 may become inf
  }
  if (result > f.max_finite) {
    if (overflow == Overflow::saturate) {
      result = f.max_finite;
    } else if (!f.has_infinity) {
      return std::numeric_limits<double>::quiet_NaN();
    } else {
      result = kInfinity;
    }
  }
  return std::copysign(result, x);
}

/// Counts instead of asserting per value: one line for the first mismatch, not a million.
struct Mismatches {
  std::int64_t checked = 0;
  std::int64_t wrong = 0;
  double first = 0;

  void check(Format format, double x) {
    for (Overflow overflow : kBothModes) {
      ++checked;
      const std::uint64_t bits = encode(format, x, overflow);
      const bool fits = format == Format::f64 || bits >> info(format).bits == 0;
      if (!fits || !same(decode(format, bits), expected_value(format, x, overflow))) {
        if (wrong++ == 0) first = x;
      }
    }
  }
  /// x and its two neighbours among the doubles, both signs.
  void check_around(Format format, double x) {
    for (double y : {x, std::nextafter(x, kInfinity), std::nextafter(x, -kInfinity)}) {
      check(format, y);
      check(format, -y);
    }
  }
  void expect_none(Format format) const {
    EXPECT_EQ(wrong, 0) << info(format).name << ": first at " << std::hexfloat << first;
  }
};

TEST(Formats, TableAgreesWithItself) {
  for (Format format : kAllFormats) {
    const FormatInfo& f = info(format);
    SCOPED_TRACE(f.name);
    EXPECT_EQ(parse_format(f.name), format);
    EXPECT_EQ(decode(format, max_finite_bits(format)), f.max_finite);
    EXPECT_EQ(unit_roundoff(format), std::ldexp(1.0, -f.precision));
    EXPECT_EQ(min_normal(format), std::ldexp(1.0, f.min_exponent));
    EXPECT_EQ(min_subnormal(format), std::ldexp(1.0, f.min_exponent - (f.precision - 1)));
    EXPECT_TRUE(std::isnan(decode(format, nan_bits(format))));
    EXPECT_TRUE(std::isnan(decode(format, ~std::uint64_t{0}))) << "0xff bytes must be NaN";
    EXPECT_EQ(encode(format, std::nan("")), nan_bits(format));
    EXPECT_EQ(encode(format, -std::nan("")), nan_bits(format));
    EXPECT_EQ(encode(format, std::nan(""), Overflow::saturate), nan_bits(format));
    EXPECT_EQ(encode(format, -0.0), sign_bit(format));
    EXPECT_EQ(std::isinf(decode(format, max_finite_bits(format) + 1)), f.has_infinity);
  }
  EXPECT_FALSE(parse_format("f8").has_value());
  EXPECT_FALSE(parse_format("").has_value());
}

// Facts from the published definitions, not from our code: IEEE 754 binary16, and the OCP 8-bit specification (1.0).
TEST(Formats, PublishedPatterns) {
  EXPECT_EQ(decode(Format::f16, 0x7bff), 65504.0);
  EXPECT_EQ(decode(Format::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(decode(Format::f16, 0xfc00), -kInfinity);
  EXPECT_EQ(decode(Format::bf16, 0x3f80), 1.0);
  EXPECT_EQ(decode(Format::bf16, 0x0001), 0x1p-133);
  EXPECT_EQ(decode(Format::e4m3fn, 0x7e), 448.0);
  EXPECT_EQ(decode(Format::e4m3fn, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(decode(Format::e4m3fn, 0x7f)));
  EXPECT_TRUE(std::isnan(decode(Format::e4m3fn, 0xff)));
  EXPECT_EQ(decode(Format::e5m2, 0x7b), 57344.0);
  EXPECT_EQ(decode(Format::e5m2, 0x7c), kInfinity);
  EXPECT_EQ(decode(Format::e5m2, 0x01), 0x1p-16);
  // 448 and the 480 that e4m3fn lacks meet at 464: the tie goes to the even 448, beyond it there is only NaN.
  EXPECT_EQ(encode(Format::e4m3fn, 464.0), 0x7eU);
  EXPECT_EQ(encode(Format::e4m3fn, std::nextafter(464.0, 500.0)), 0x7fU);
  EXPECT_EQ(encode(Format::e4m3fn, std::nextafter(464.0, 500.0), Overflow::saturate), 0x7eU);
  EXPECT_EQ(encode(Format::e4m3fn, -kInfinity, Overflow::saturate), 0xfeU);
  EXPECT_EQ(encode(Format::e4m3fn, -kInfinity), 0x7fU);
  // 57344 is odd: the tie 61440 goes away from it, to infinity.
  EXPECT_EQ(encode(Format::e5m2, 61440.0), 0x7cU);
  EXPECT_EQ(encode(Format::e5m2, 61440.0, Overflow::saturate), 0x7bU);
  EXPECT_EQ(encode(Format::f16, 65520.0), 0x7c00U);
  EXPECT_EQ(encode(Format::f16, std::nextafter(65520.0, 0.0)), 0x7bffU);
}

TEST(Formats, ConstantExpressions) {
  static_assert(encode(Format::bf16, 1.0) == 0x3f80);
  static_assert(decode(Format::f16, 0x3c00) == 1.0);
  static_assert(round_to(Format::e4m3fn, 0.3) == 0.3125);
}

TEST(Formats, EveryValueRoundTrips) {
  for (Format format : kSmallFormats) {
    std::set<double> seen;
    const std::uint64_t count = std::uint64_t{1} << info(format).bits;
    for (std::uint64_t bits = 0; bits < count; ++bits) {
      const double value = decode(format, bits);
      const std::uint64_t expected = std::isnan(value) ? nan_bits(format) : bits;
      ASSERT_EQ(encode(format, value), expected) << info(format).name;
      ASSERT_TRUE(same(decode(format, bits | ~std::uint64_t{0} << info(format).bits), value)) << "bits above the width";
      if (!std::isnan(value)) seen.insert(value);
    }
    // Distinct values: both zeros are one. inf in three of the four formats.
    const std::uint64_t finite = 2 * max_finite_bits(format) + 1;
    EXPECT_EQ(seen.size(), finite + (info(format).has_infinity ? 2 : 0));
  }
}

TEST(Formats, EveryMidpointAndItsNeighbours) {
  for (Format format : kSmallFormats) {
    Mismatches mismatches;
    for (std::uint64_t bits = 0; bits <= max_finite_bits(format); ++bits) {
      const double value = decode(format, bits);
      // Behind the last value the grid goes on for this purpose: rounding decides there between finite and beyond.
      const double last_gap = info(format).max_finite - decode(format, max_finite_bits(format) - 1);
      const double next = bits < max_finite_bits(format) ? decode(format, bits + 1) : value + last_gap;
      mismatches.check_around(format, value);
      mismatches.check_around(format, value + (next - value) / 2);
    }
    EXPECT_EQ(mismatches.checked, 24 * (static_cast<std::int64_t>(max_finite_bits(format)) + 1));
    mismatches.expect_none(format);
  }
}

// All 255 finite exponent fields of f32 and what lies around them, times significands that decide rounding.
TEST(Formats, F32EveryExponent) {
  std::vector<std::uint32_t> fractions = {0, 0x7fffff, 0x400000, 0x2aaaaa, 0x555555, 0x7ffffe, 0x000001};
  for (int i = 0; i < 23; ++i) fractions.push_back(1U << i);
  for (int i = 1; i < 23; ++i) fractions.push_back((1U << i) - 1);
  Random random(1, 0);
  for (int i = 0; i < 12; ++i) fractions.push_back(random.next_u32() & 0x7fffff);

  Mismatches mismatches;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (std::uint32_t fraction : fractions) {
      const std::uint32_t bits = exponent << 23 | fraction;
      const double value = std::bit_cast<float>(bits);
      ASSERT_TRUE(same(decode(Format::f32, bits), value));
      ASSERT_EQ(encode(Format::f32, value), bits);
      ASSERT_EQ(encode(Format::f32, -value), bits | sign_bit(Format::f32));
      const double gap = std::ldexp(1.0, std::max<int>(static_cast<int>(exponent), 1) - 150);
      mismatches.check_around(Format::f32, value + gap / 2);
    }
  }
  mismatches.check_around(Format::f32, kInfinity);
  mismatches.expect_none(Format::f32);
}

// Doubles of every exponent, subnormals and the far ends included, into every format.
TEST(Formats, RandomDoublesOfEveryExponent) {
  Random random(2, 0);
  for (Format format : kAllFormats) {
    Mismatches mismatches;
    for (std::uint64_t exponent = 0; exponent < 2047; ++exponent) {
      for (int i = 0; i < 6; ++i) {
        const std::uint64_t fraction = random.next_u64() >> 12;
        // Also few significant bits: random ones never tie.
        const std::uint64_t kept = i % 2 == 0 ? fraction : fraction >> (40 - 3 * i) << (40 - 3 * i);
        const double x = std::bit_cast<double>(exponent << 52 | kept);
        mismatches.check(format, x);
        mismatches.check(format, -x);
      }
    }
    mismatches.check(format, kInfinity);
    mismatches.check(format, -kInfinity);
    mismatches.expect_none(format);
  }
}

// f32 is what the hardware converts: the CPU's own instruction under the default environment is the second opinion.
TEST(Formats, F32AgreesWithTheCpu) {
  Random random(3, 0);
  for (int i = 0; i < 1'000'000; ++i) {
    // Exponent fields 850..1177 of a double: from below f32's subnormals to beyond its range.
    const std::uint64_t exponent = static_cast<std::uint64_t>(random.integer(850, 1177));
    const std::uint64_t bits = random.next_u64();
    const double x = std::bit_cast<double>((bits & ~(std::uint64_t{0x7ff} << 52)) | exponent << 52);
    ASSERT_EQ(encode(Format::f32, x), std::bit_cast<std::uint32_t>(static_cast<float>(x))) << std::hexfloat << x;
  }
}

// The comparison above must be able to fail: truncation instead of rounding, and ties away from zero, are caught.
TEST(Formats, ExpectedValueSeesWrongRounding) {
  const double tie = 1.0 + 0x1p-11;  // between 1 and the next f16
  EXPECT_EQ(expected_value(Format::f16, tie, Overflow::ieee), 1.0);
  EXPECT_EQ(expected_value(Format::f16, std::nextafter(tie, 2.0), Overflow::ieee), 1.0 + 0x1p-10);
  EXPECT_EQ(expected_value(Format::f16, 1.0 + 3 * 0x1p-11, Overflow::ieee), 1.0 + 2 * 0x1p-10);
  EXPECT_EQ(expected_value(Format::f16, 0x1p-25, Overflow::ieee), 0.0);
  EXPECT_EQ(expected_value(Format::f16, std::nextafter(0x1p-25, 1.0), Overflow::ieee), 0x1p-24);
}

}  // namespace
}  // namespace flashproof
