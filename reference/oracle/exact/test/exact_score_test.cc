#include "reference/oracle/exact/exact_score.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <vector>

#include "reference/problem/formats.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// score · 2^448 as an integer, from the limbs.
Integer value_of(const ExactScore& score) {
  Integer sum = 0;
  const auto limbs = score.magnitude();
  for (int i = ExactScore::kLimbs - 1; i >= 0; --i) sum = (sum << 32) + limbs[i];
  return score.negative() ? Integer(-sum) : sum;
}

/// x · 2^scale as an integer, by frexp instead of the bits.
Integer scaled(double x, int scale) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  const int shift = exponent - 53 + scale;
  const Integer significand = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  return shift >= 0 ? Integer(significand << shift) : Integer(significand >> -shift);
}

double random_f32(Random& random) {
  for (;;) {
    const double x = decode(Format::f32, random.next_u32());
    if (std::isfinite(x)) return x;
  }
}

TEST(ExactScore, SumsOfProductsAreExactOverTheWholeRange) {
  Random random(1, 1);
  for (int round = 0; round < 200; ++round) {
    ExactScore score;
    Integer expected = 0;
    for (int term = 0; term < 20; ++term) {
      const double scale = random_f32(random), q = random_f32(random), k = random_f32(random);
      score.add(dyadic(scale * q), dyadic(k));
      expected += scaled(scale * q, 298) * scaled(k, 149) * 2;  // 448 = 298 + 149 + 1
    }
    const double bias = random_f32(random);
    score.add(dyadic(bias), {1, 0});
    expected += scaled(bias, 448);
    score.normalize();
    ASSERT_EQ(value_of(score), expected) << "round " << round;
  }
}

TEST(ExactScore, ExtremesFit) {
  const double largest = 0x1.fffffep127;
  ExactScore score;
  constexpr int kTerms = 70000;  // more than the largest head dimension
  for (int i = 0; i < kTerms; ++i) score.add(dyadic(-largest * largest), dyadic(largest));
  score.normalize();
  EXPECT_TRUE(score.negative());
  EXPECT_EQ(value_of(score), Integer(-kTerms) * scaled(largest * largest, 298) * scaled(largest, 149) * 2);
  ExactScore least;
  least.add(dyadic(0x1p-298), dyadic(-0x1p-149));
  least.normalize();
  EXPECT_EQ(value_of(least), Integer(-2));
}

TEST(ExactScore, OrderAndDifferenceAgreeWithIntegers) {
  Random random(2, 1);
  std::vector<ExactScore> scores = {exact_score(0.0), exact_score(-0.0), exact_score(-0x1p-149), exact_score(1e38)};
  for (int i = 0; i < 30; ++i) scores.push_back(exact_score(random_f32(random)));
  for (const ExactScore& a : scores) {
    for (const ExactScore& b : scores) {
      ASSERT_EQ(value_of(a - b), value_of(a) - value_of(b));
      ASSERT_EQ(a < b, value_of(a) < value_of(b));
      ASSERT_EQ(a == b, value_of(a) == value_of(b));
    }
  }
}

TEST(ExactScore, CancellationLeavesExactlyTheRest) {
  ExactScore score;
  score.add(dyadic(1e38F), dyadic(3e38F));
  score.add(dyadic(0x1p-149), {1, 0});
  score.add(dyadic(-1e38F), dyadic(3e38F));
  score.normalize();
  EXPECT_EQ(score, exact_score(0x1p-149));
}

}  // namespace
}  // namespace flashproof
