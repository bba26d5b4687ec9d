// Arithmetic on measured numbers: the interval holds the exact result where double rounds, underflows and overflows; and
// which failure a tally keeps.
#include "properties/laws/support/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "properties/laws/support/parts.h"
#include "reference/error/semantics/declared_truth.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

bool holds(const Measured& interval, double exact) { return std::fabs(exact - interval.value) <= interval.radius; }

TEST(Compare, LogKeepsARadiusBelowAnUlp) {
  // ln(1 + r) = r: the value is 0, so that no rounding of it hides the radius.
  EXPECT_TRUE(holds(log({1, 0x1p-60}), 0x1p-60));
  EXPECT_TRUE(holds(log({1, 0x1p-60}), -0x1p-60));
  EXPECT_TRUE(holds(log({1, 0.75}), std::log(0.25)));
  EXPECT_TRUE(std::isinf(log({1, 1}).radius));
  EXPECT_TRUE(std::isinf(log({-1, 0}).radius));
}

TEST(Compare, ExpHoldsBothEndsWhereItUnderflows) {
  EXPECT_TRUE(holds(exp({-800, 700}), std::exp(-100)));
  EXPECT_TRUE(holds(exp({-740, 10}), std::exp(-730)));
  for (const Measured beyond : {Measured{-800, 2000}, Measured{0, 800}, Measured{800, 0}}) {
    EXPECT_EQ(exp(beyond).value, 0);
    EXPECT_TRUE(std::isinf(exp(beyond).radius));
  }
}

TEST(Compare, AShareIsCutToOneButNotIfItIsCertainlyMore) {
  const Measured some = share({-1, 5}), more = share({10, 9.5}), most = share({5000, 1});
  EXPECT_TRUE(holds(some, std::exp(-6)) && holds(some, 1));
  EXPECT_LT(some.value + some.radius, 1.0001);
  EXPECT_GT(more.value - more.radius, 1);
  EXPECT_TRUE(std::isfinite(most.radius));
  EXPECT_GT(most.value - most.radius, 1);
}

TEST(Compare, TheMostSevereFailureStaysWhateverCameFirst) {
  const auto number = [](Comparison& tally, double difference, const char* what) {
    tally.agree({difference, 1}, exactly(0), 1, [what] { return std::string(what); });
  };
  for (const bool number_first : {false, true}) {
    Comparison tally;
    if (number_first) number(tally, 9, "a number");
    tally.fail(Failure::class_mismatch, "a class");
    if (!number_first) number(tally, 9, "a number");
    EXPECT_EQ(to_string(tally.verdict("")), "fail(class_mismatch)") << number_first;
    EXPECT_EQ(tally.verdict("").detail, "a class; 1 more");
  }
  Comparison tally;
  number(tally, 2, "near");
  number(tally, 9, "far");
  number(tally, 5, "between");
  EXPECT_EQ(tally.verdict("").detail.substr(0, 4), "far:");
}

TEST(Compare, OnlyIfAllWasRefusedIsALawUnsupported) {
  Comparison tally;
  EXPECT_TRUE(tally.taken(""));
  EXPECT_EQ(to_string(tally.verdict("nothing")), "vacuous");
  EXPECT_FALSE(tally.taken("too long"));
  EXPECT_EQ(to_string(tally.verdict("nothing")), "unsupported");
  tally.held();
  EXPECT_EQ(to_string(tally.verdict("nothing")), "pass");
  tally.fail(Failure::leak, "seen before");
  EXPECT_FALSE(tally.taken("too long"));
  EXPECT_EQ(to_string(tally.verdict("nothing")), "fail(leak)");
}

TEST(Reading, an_lse_to_base_2_has_the_charge_that_the_judge_got) {
  Output output{Tensor::dense(Format::f32, {1, 1}), Tensor::dense(Format::f32, {1})};
  output.lse.set({0}, 0x1p-20);
  Bound bound;
  bound.rows = 1, bound.width = 1;
  bound.lse = {{.weights = 1e-9, .size = 0x1p-20}};
  bound.domain.resize(1);
  Contract contract;
  contract.semantics.lse_base = LseBase::two;
  for (const double frame : {0.0, 12.0}) {
    bound.frame = {frame};
    const double judged = base_2_rounding(bound.lse[0], frame) / kLog2E;
    EXPECT_NEAR(Reading(output, bound, contract).lse(0).radius, 1e-9 + judged, 1e-12) << frame;
  }
}

TEST(Specials, an_infinity_may_stand_where_the_bounds_reach_the_end_of_the_range) {
  const auto f16 = [](Measured a, Measured b) { return specials(a, b, Format::f16); };
  EXPECT_EQ(f16({kInfinity, 0}, {kInfinity, 9}), Specials::same);
  EXPECT_EQ(f16({kNan, 0}, {kNan, 0}), Specials::same);
  EXPECT_EQ(f16({kNan, 1e9}, {1, 1e9}), Specials::differ);
  EXPECT_EQ(f16({kNan, 1e9}, {kInfinity, 1e9}), Specials::differ);
  EXPECT_EQ(f16({kInfinity, 10}, {65000, 600}), Specials::may_be);
  EXPECT_EQ(f16({kInfinity, 10}, {65000, 400}), Specials::differ);
  EXPECT_EQ(f16({-kInfinity, 10}, {65000, 600}), Specials::differ);
  EXPECT_EQ(f16({-kInfinity, 1e5}, {1000, 600}),
            Specials::may_be);  // so wide that the exact value may be below the range
  EXPECT_EQ(f16({kInfinity, 70000}, {-kInfinity, 70000}), Specials::may_be);
  EXPECT_EQ(f16({kInfinity, 70000}, {-kInfinity, 60000}), Specials::differ);
}

}  // namespace
}  // namespace flashproof
