// The acceptance rule against an independent evaluation: MPFR adds exactly and rounds into the format with its own
// exponent range and mpfr_subnormalize, and every f16 value is tried; for f32 and bf16 the values around both ends.
#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "reference/error/test/rapidcheck_seed.h"
#include "reference/error/test/scene.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

struct Question {
  Ball truth;
  double bound;
};

/// RN_format(hi + lo + a + b), overflow to inf.
double mpfr_rounded(Format format, const Question& q, double radius, double bound) {
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  mpfr_t exact, result;
  mpfr_init2(exact, 2300);
  mpfr_set_d(exact, q.truth.hi, MPFR_RNDN);
  for (const double term : {q.truth.lo, radius, bound}) EXPECT_EQ(mpfr_add_d(exact, exact, term, MPFR_RNDN), 0);
  const FormatInfo& f = info(format);
  mpfr_init2(result, f.precision);
  // MPFR's significand lies in [1/2, 1): its exponents are ours plus one.
  mpfr_set_emin(f.min_exponent - (f.precision - 1) + 1);
  mpfr_set_emax(std::ilogb(f.max_finite) + 1);
  int direction = mpfr_set(result, exact, MPFR_RNDN);
  direction = mpfr_check_range(result, direction, MPFR_RNDN);  // mpfr_set does not; overflow becomes inf here
  mpfr_subnormalize(result, direction, MPFR_RNDN);
  const double value = mpfr_get_d(result, MPFR_RNDN);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  mpfr_clear(exact);
  mpfr_clear(result);
  return value;
}

struct Ends {
  double sure_lower, sure_upper, never_below, never_above;
};

Ends ends_of(Format format, const Question& q) {
  const double r = q.truth.radius, b = q.bound;
  return {mpfr_rounded(format, q, r, -b), mpfr_rounded(format, q, -r, b), mpfr_rounded(format, q, -r, -b),
          mpfr_rounded(format, q, r, b)};
}

std::string expected(const Ends& e, double computed) {
  if (std::isnan(computed)) return "fail(class_mismatch)";
  if (computed >= e.sure_lower && computed <= e.sure_upper) return "pass";
  if (computed >= e.never_below && computed <= e.never_above) return "inconclusive";
  return std::isinf(computed) ? "fail(class_mismatch)" : "fail(exceeds_bound)";
}

/// At a value of the format, at the midpoint above it, or anywhere; nudged by lo by less than any format can see; the
/// bound zero, ties for an end, tiny, or wide; the radius zero, tiny, or as wide as the bound.
Question question_from(Format format, std::uint64_t draw) {
  const auto next = [&draw] {
    draw = draw * 6364136223846793005 + 1442695040888963407;
    return draw >> 20;
  };
  const FormatInfo& f = info(format);
  const std::uint64_t sign = std::uint64_t{1} << (f.bits - 1);
  const std::uint64_t bits = next() % (encode(format, f.max_finite) + 1);
  const std::uint64_t places[] = {bits, bits % 64, encode(format, f.max_finite) - bits % 4};  // anywhere, tiny, huge
  const double value = decode(format, places[next() % 3] | (next() % 2 == 0 ? sign : 0));
  const double step = ulp(format, value);
  Question q{};
  q.truth.hi = value;
  switch (next() % 4) {
    case 0:
      break;
    case 1:
      q.truth.hi += step / 2;
      break;
    case 2:
      q.truth.hi += step / 4;
      break;
    default:
      q.truth.hi += step * std::ldexp(static_cast<double>(next() % 4096), -12);
      break;
  }
  if (std::isinf(q.truth.hi)) q.truth.hi = value;  // f64 has nothing beyond its last binade
  const double smallest = ulp(Format::f64, q.truth.hi);
  const double nudges[] = {0, smallest / 2, -smallest / 4, smallest * 0x1p-30, -smallest * 0x1p-50};
  q.truth.lo = nudges[next() % 5];
  const double bounds[] = {0, step / 2, step, 1.5 * step, step * 0x1p-40, 3.25 * step, std::fabs(value), smallest};
  q.bound = bounds[next() % 8];
  const double radii[] = {0, 0, step * 0x1p-12, smallest * 0x1p-40, q.bound, 2 * step};
  q.truth.radius = radii[next() % 6];
  return q;
}

std::string judged(Format format, std::uint64_t bits, const Question& q) {
  return to_string(judge_element(format, bits, q.truth, {0, q.bound, 0, 0}, kInfinity, true, Contract{}));
}

TEST(JudgeBrute, EveryF16ValueAgainstMpfr) {
  std::uint64_t accepted = 0, undecided = 0, infinite = 0;
  for (std::uint64_t n = 0; n < 48; ++n) {
    const Question q = question_from(Format::f16, n * 7919 + 1);
    const Ends ends = ends_of(Format::f16, q);
    for (std::uint64_t bits = 0; bits < 65536; ++bits) {
      const double value = decode(Format::f16, bits);
      const std::string verdict = judged(Format::f16, bits, q);
      ASSERT_EQ(verdict, expected(ends, value))
          << value << " against " << q.truth.hi << " + " << q.truth.lo << " ± " << q.truth.radius << ", " << q.bound;
      accepted += verdict == "pass" ? 1 : 0;
      undecided += verdict == "inconclusive" ? 1 : 0;
      infinite += verdict == "pass" && std::isinf(value) ? 1 : 0;
    }
  }
  // The questions reach every kind of answer.
  EXPECT_GT(accepted, 48U);
  EXPECT_GT(undecided, 4U);
  EXPECT_GT(infinite, 0U);
}

/// Steps along the format's numbers, −inf to +inf, both zeros one step.
std::uint64_t neighbour(Format format, double value, int steps) {
  const std::uint64_t sign = std::uint64_t{1} << (info(format).bits - 1);
  const std::uint64_t bits = encode(format, value);
  auto ordinal = (bits & sign) != 0 ? -static_cast<std::int64_t>(bits ^ sign) : static_cast<std::int64_t>(bits);
  const auto limit = static_cast<std::int64_t>(encode(format, kInfinity));
  ordinal = std::min(std::max(ordinal + steps, -limit), limit);
  return ordinal < 0 ? static_cast<std::uint64_t>(-ordinal) | sign : static_cast<std::uint64_t>(ordinal);
}

TEST(JudgeBrute, AroundBothEndsOfWiderFormats) {
  for (const Format format : {Format::f32, Format::bf16, Format::e5m2, Format::f64}) {
    EXPECT_TRUE(rc::check(std::string(info(format).name), [format](std::uint64_t draw) {
      const Question q = question_from(format, draw);
      const Ends ends = ends_of(format, q);
      for (const double end : {ends.sure_lower, ends.sure_upper, ends.never_below, ends.never_above}) {
        for (int steps = -2; steps <= 2; ++steps) {
          const std::uint64_t bits = neighbour(format, end, steps);
          RC_ASSERT(judged(format, bits, q) == expected(ends, decode(format, bits)));
        }
      }
    }));
  }
}

TEST(JudgeBrute, AcceptedFiniteValuesAreWithinTheBoundWithRounding) {
  // The ratio of the report and the rule of the verdict agree in this direction: accepted implies ratio <= 1. The
  // evaluation of error and bound in double adds a few units of 2^-53.
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    EXPECT_TRUE(rc::check(std::string(info(format).name), [format](std::uint64_t draw) {
      Question q = question_from(format, draw);
      q.truth.radius = 0;
      const Ends ends = ends_of(format, q);
      for (const double end : {ends.sure_lower, ends.sure_upper}) {
        if (std::isinf(end)) continue;
        const double bound = bound_with_rounding(format, q.truth, {q.bound, 0, 0, 0});
        RC_ASSERT(std::fabs(signed_error(end, q.truth)) <= bound * (1 + 0x1p-50));
      }
    }));
  }
}

}  // namespace
}  // namespace flashproof
