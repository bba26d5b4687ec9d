// Does every ball contain the exact result? The judge is reference<Real> at 300 digits, whose own error (2^-990 or so)
// is derived in reference_error.h and is far below the radii judged here, most of which are near 2^-107 of the value.
#include <gtest/gtest.h>

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>

#include "reference/oracle/oracle.h"
#include "reference/oracle/reference.h"
#include "reference/oracle/reference_error.h"
#include "reference/oracle/test_problems.h"

namespace flashproof {
namespace {

namespace mp = boost::multiprecision;
using Fine = mp::number<mp::mpfr_float_backend<300>, mp::et_off>;
constexpr int kFineBits = 990;  // 300 digits are 996 bits or more

struct Tally {
  int elements = 0;
  int violations = 0;
  int too_wide = 0;  // radius above 2^-12 ulp of f32 at the value
  int undecided = 0;
  int wrong_class = 0;
};

void judge(const Ball& ball, const Fine& exact, const Fine& tolerance, Tally& tally) {
  ++tally.elements;
  if (mp::isinf(exact)) {  // lse of a row without keys
    if (ball.classes != kNegInf) ++tally.wrong_class;
    return;
  }
  if (ball.classes != kFinite) ++tally.wrong_class;
  if (!ball.decided) ++tally.undecided;
  const Fine distance = abs(Fine(exact - Fine(ball.hi)) - Fine(ball.lo));
  if (!(distance <= Fine(ball.radius) + tolerance)) ++tally.violations;
  const double value = exact.convert_to<double>();
  const int exponent = value == 0.0 ? -149 : std::max(std::ilogb(value) - 23, -149);
  if (!(ball.radius <= std::ldexp(1.0, exponent - 12))) ++tally.too_wide;
}

/// `change` is applied to every ball first: the negative controls spoil them there.
template <class Change>
Tally check(const Problem& problem, Change change) {
  Truth truth = compute_truth(problem);
  const ReferenceResult<Fine> exact = std::visit([](const auto& p) { return reference<Fine>(p); }, problem);
  const auto error = test::reference_error<Fine>(problem, ldexp(Fine(1), -kFineBits), 2.0);
  EXPECT_TRUE(error.meaningful);
  EXPECT_EQ(exact.o.size(), truth.o.size());
  EXPECT_EQ(exact.lse.size(), truth.lse.size());
  Tally tally;
  for (std::size_t i = 0; i < exact.o.size(); ++i) {
    change(truth.o[i]);
    judge(truth.o[i], exact.o[i], error.o, tally);
  }
  for (std::size_t i = 0; i < exact.lse.size(); ++i) {
    change(truth.lse[i]);
    judge(truth.lse[i], exact.lse[i], error.lse, tally);
  }
  return tally;
}

constexpr auto kUnchanged = [](Ball&) {};

class HardKinds : public testing::TestWithParam<std::size_t> {};

TEST_P(HardKinds, NoViolation) {
  const test::Kind& kind = test::hard_kinds()[GetParam()];
  SCOPED_TRACE(kind.name);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed, GetParam());
    const Tally tally = check(kind.make(random), kUnchanged);
    EXPECT_GE(tally.elements, 15);
    EXPECT_EQ(tally.violations, 0) << seed;
    EXPECT_EQ(tally.too_wide, 0) << seed;
    EXPECT_EQ(tally.undecided, 0) << seed;
    EXPECT_EQ(tally.wrong_class, 0) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Containment, HardKinds, testing::Range(std::size_t{0}, test::hard_kinds().size()));

TEST(Containment, RandomProblemsOfEveryShape) {
  int elements = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Tally tally = check(test::random_problem(seed), kUnchanged);
    elements += tally.elements;
    ASSERT_EQ(tally.violations + tally.too_wide + tally.undecided + tally.wrong_class, 0) << seed;
  }
  EXPECT_GT(elements, 4000);
}

// Negative controls: the same check on spoiled balls.

TEST(ContainmentControl, AShrunkenRadiusIsNoticed) {
  // The last rounding to hi + lo is the largest part of a radius and is mostly real: an eighth of it is too little.
  Random random(1, 100);
  const Problem problem = test::softmax(Format::f32, 4, 50, [&] { return random.normal(); });
  const Tally tally = check(problem, [](Ball& ball) { ball.radius *= 0.125; });
  EXPECT_GT(tally.violations, tally.elements / 4);
}

TEST(ContainmentControl, APerturbedValueIsNoticed) {
  Random random(2, 100);
  const Problem problem = test::hard_kinds()[12].make(random);  // attention normal
  // Four radii, but at least four units in the last place of lo, so that the addition does not round it away: the
  // exact result is at most one radius from the centre, hence at least 2.5 radii from the moved one.
  const Tally by_four_radii = check(problem, [](Ball& ball) {
    const double unit = std::nextafter(std::fabs(ball.lo), 1.0) - std::fabs(ball.lo);
    ball.lo += 4.0 * std::max(ball.radius, unit);
  });
  EXPECT_EQ(by_four_radii.violations, by_four_radii.elements);
  const Tally by_one_double = check(problem, [](Ball& ball) { ball.hi = std::nextafter(ball.hi, 1e300); });
  EXPECT_EQ(by_one_double.violations, by_one_double.elements);
  const Tally without_rest = check(problem, [](Ball& ball) { ball.lo = 0.0; });
  EXPECT_EQ(without_rest.violations, without_rest.elements);
}

TEST(ContainmentControl, AWideRadiusIsNoticed) {
  Random random(3, 100);
  const Problem problem = test::softmax(Format::f32, 2, 20, [&] { return random.normal(); });
  const Tally tally = check(problem, [](Ball& ball) { ball.radius = 0x1p-34 * std::fabs(ball.hi); });
  EXPECT_EQ(tally.violations, 0);
  EXPECT_EQ(tally.too_wide, tally.elements);
}

}  // namespace
}  // namespace flashproof
