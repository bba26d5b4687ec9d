// Power: which elements a test decides, and what an answer that costs nothing gets from it.
#include "reference/error/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reference/error/error_stats.h"
#include "reference/error/test/scene.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

/// Of one f32 element of o.
Decided decide_one(const Ball& truth, double bound, const TrivialGap& gap, bool in_domain = true,
                   Contract contract = {}) {
  const ElementBound parts{.numerator = bound};
  const RowDomain domain{in_domain ? Precondition{} : Precondition{"head-room", 2, 1}};
  return decided({Part::o, 0, 0, Format::f32, 0, 0.0, truth, parts, 1.0, domain}, contract, gap);
}

TEST(Power, a_bound_below_the_gap_decides_and_one_above_does_not) {
  const Ball truth{0.5, 0, 0x1p-60};
  const TrivialGap gap{0.25, Trivial::uniform};
  EXPECT_EQ(decide_one(truth, 0.125, gap), Decided::yes);
  EXPECT_EQ(decide_one(truth, 0.25, gap), Decided::uniform);
  EXPECT_EQ(decide_one(truth, std::nan(""), gap), Decided::infinity);
  EXPECT_EQ(decide_one(truth, kInfinity, gap), Decided::infinity);
  EXPECT_EQ(decide_one(truth, 0.125, gap, false), Decided::outside);
}

TEST(Power, a_kernel_that_refuses_a_range_decides_nothing_beyond_it) {
  const ElementBound bound{};
  RowDomain domain;
  domain.require({"raw exponential below the f32 range", 2, 1, false});
  const Element element{Part::o, 0, 0, Format::f32, 0, 0.0, Ball{0.5, 0, 0}, bound, 1.0, domain};
  EXPECT_EQ(decided(element, {}, {}), Decided::yes);
  EXPECT_EQ(decided(element, {.refuses_beyond_range = true}, {}), Decided::outside);
}

TEST(Power, one_right_class_is_decided_and_two_are_not) {
  EXPECT_EQ(decide_one({0, 0, 0, kNaN}, 0, {}), Decided::trivial);  // no other class will do, but NaN everywhere would
  EXPECT_EQ(decide_one({0, 0, 0, kNaN | kPosInf}, 0, {}), Decided::open);
  EXPECT_EQ(decide_one({0, 0, 0, kFinite | kPosInf}, 0, {}), Decided::open);
}

TEST(Power, what_the_kernel_declares_nothing_of_is_not_decided) {
  EXPECT_EQ(decide_one({.classes = kUnspecified}, 0, {}), Decided::open);
}

TEST(Power, what_may_round_to_infinity_is_not_decided) {
  EXPECT_EQ(decide_one({3.4e38, 0, 0}, 1e36, {1e38, Trivial::zero}), Decided::infinity);
  EXPECT_EQ(decide_one({3.0e38, 0, 0}, 1e36, {1e38, Trivial::zero}), Decided::yes);
}

/// The definition, slowly: whatever decide() accepts of these answers is right, where an element counts as decided.
void expect_sound(const Problem& problem, const std::vector<double>& answers, double relative_bound) {
  Oracle oracle(problem);
  const Truth& truth = oracle.truth();
  const TrivialGaps gaps = trivial_gaps(problem, truth);
  const Format format = output_format(problem);
  const RowDomain domain;
  int decided_elements = 0, excluded = 0;
  for (std::size_t i = 0; i < truth.o.size(); ++i) {
    const Ball ball = truth.o[i];
    const ElementBound bound{.numerator = relative_bound * std::fabs(ball.hi)};
    const Element element{Part::o, 0, 0, format, 0, 0.0, ball, bound, 1e9, domain};
    if (decided(element, {}, gaps.o[i]) != Decided::yes) continue;
    ++decided_elements;
    for (const double answer : answers) {
      const std::uint64_t bits = encode(format, answer);
      const bool right = std::fabs(signed_error(answer, ball)) <= ulp(format, ball) / 2 + ball.radius;
      const Element asked{Part::o, 0, 0, format, bits, decode(format, bits), ball, bound, 1e9, domain};
      if (right) continue;
      EXPECT_TRUE(decide(asked, {}).failed()) << "element " << i << " accepts " << answer;
      ++excluded;
    }
  }
  EXPECT_GT(decided_elements, 0);
  EXPECT_GT(excluded, 0);
}

AttentionProblem small_attention() {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 2, 2});
  p.k = Tensor::dense(Format::f32, {1, 1, 3, 2});
  p.v = Tensor::dense(Format::f32, {1, 1, 3, 2});
  const double q[] = {0.5, -1, 2, 1}, k[] = {1, 0, -1, 0.5, 0.25, 2}, v[] = {1, -4, 3, 5, -2, 0.5};
  for (int n = 0; n < 4; ++n) p.q.set({0, 0, n / 2, n % 2}, q[n]);
  for (int n = 0; n < 6; ++n) p.k.set({0, 0, n / 2, n % 2}, k[n]), p.v.set({0, 0, n / 2, n % 2}, v[n]);
  p.scale = 0.75F;
  p.plan = ChunkPlan::uniform(3, 2);
  return p;
}

TEST(TrivialGaps, of_attention_are_those_of_its_columns) {
  const AttentionProblem p = small_attention();
  Oracle oracle{Problem(p)};
  const Truth& truth = oracle.truth();
  const TrivialGaps gaps = trivial_gaps(Problem(p), truth);
  const double columns[2][3] = {{1, 3, -2}, {-4, 5, 0.5}};
  for (std::int64_t r = 0; r < 2; ++r) {
    double dots[3], largest = -kInfinity;
    for (std::int64_t j = 0; j < 3; ++j) {
      dots[j] = 0.75 * (p.q.at({0, 0, r, 0}) * p.k.at({0, 0, j, 0}) + p.q.at({0, 0, r, 1}) * p.k.at({0, 0, j, 1}));
      largest = std::max(largest, dots[j]);
    }
    const double lse = truth.lse[static_cast<std::size_t>(r)].hi;
    double nearest = std::min({std::fabs(lse), std::fabs(lse - 1), lse - largest, std::log(2)});
    EXPECT_NEAR(gaps.lse[static_cast<std::size_t>(r)].distance, nearest, 1e-12);
    for (std::int64_t c = 0; c < 2; ++c) {
      const double o = truth.o[static_cast<std::size_t>(2 * r + c)].hi;
      const double* v = columns[c];
      nearest = std::min({std::fabs(o), std::fabs(o - 1), std::fabs(o - p.q.at({0, 0, r, c})),
                          std::fabs(o - (v[0] + v[1] + v[2]) / 3), std::fabs(o - std::min({v[0], v[1], v[2]})),
                          std::fabs(o - std::max({v[0], v[1], v[2]}))});
      EXPECT_NEAR(gaps.o[static_cast<std::size_t>(2 * r + c)].distance, nearest, 1e-12) << r << " " << c;
    }
  }
}

TEST(TrivialGaps, a_mask_leaves_only_what_is_seen) {
  AttentionProblem p = small_attention();
  p.causal = true;  // row 0 sees keys 0 and 1, row 1 all three
  Oracle oracle{Problem(p)};
  const TrivialGaps gaps = trivial_gaps(Problem(p), oracle.truth());
  const double o = oracle.truth().o[0].hi;  // v 1 and 3
  EXPECT_NEAR(gaps.o[0].distance, std::min({o - 1, 3 - o, std::fabs(o - 2)}), 1e-12);
}

TEST(TrivialGaps, a_right_answer_that_is_trivial_takes_no_power) {
  AttentionProblem p = small_attention();
  p.key_length = {1};  // o is v of the only key, lse its score
  Oracle oracle{Problem(p)};
  const TrivialGaps gaps = trivial_gaps(Problem(p), oracle.truth());
  EXPECT_EQ(gaps.o[1].distance, 3);  // v = -4, and q = -1 is the nearest wrong one
  EXPECT_EQ(gaps.o[1].nearest, Trivial::copy);
  EXPECT_TRUE(gaps.o[1].right);
  EXPECT_EQ(decide_one(oracle.truth().o[1], 0x1p-20, gaps.o[1]), Decided::trivial);
  PowerCounts counts;
  counts.counts[static_cast<std::size_t>(Decided::trivial)] = 1;
  EXPECT_EQ(counts.share(), 1);
}

TEST(TrivialGaps, decided_elements_reject_every_wrong_trivial_answer) {
  for (const double bound : {0x1p-20, 0x1p-8, 0x1p-3, 0.5}) {
    expect_sound(Problem(small_attention()), {0, 1, kInfinity, -kInfinity, std::nan(""), 2.0 / 3, 0.5, -4, 5, 3, -2},
                 bound);
  }
}

TEST(PowerCounts, shares_reasons_and_words) {
  PowerCounts counts;
  EXPECT_EQ(counts.share(), 1);
  counts.counts[static_cast<std::size_t>(Decided::yes)] = 6;
  counts.counts[static_cast<std::size_t>(Decided::outside)] = 94;
  EXPECT_EQ(counts.reason(), Decided::outside);
  EXPECT_EQ(power_text(Part::o, counts),
            "6 % of o was decided: 94 % of it lies outside the domain that the kernel declares, where NaN would do");
  Power power;
  power.of(Part::o) = counts;
  EXPECT_EQ(power.weakest(), Part::o);
  EXPECT_EQ(require_power({}, power).kind, VerdictKind::undecided);
  EXPECT_EQ(require_power({VerdictKind::fail, Failure::leak, ""}, power).kind, VerdictKind::fail);
  power.of(Part::lse).counts[static_cast<std::size_t>(Decided::maximum)] = 3;
  EXPECT_EQ(require_power({}, power).detail,
            "nothing of lse was decided: all of it has a bound that accepts the largest score alone");
  counts.counts[static_cast<std::size_t>(Decided::yes)] = 94;
  power = {};
  power.of(Part::o) = counts;
  EXPECT_EQ(require_power({}, power).kind, VerdictKind::pass);
}

}  // namespace
}  // namespace flashproof
