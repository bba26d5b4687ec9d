// Special values beside descale factors, and those of the 8-bit formats.
#include "reference/oracle/exact/test/special_values.h"

namespace flashproof::test {
namespace {

class SpecialDescale : public SpecialValues {};
INSTANTIATE_TEST_SUITE_P(Sources, SpecialDescale, testing::Values(Source::exact_tier, Source::oracle));

Tensor factor(double x) {
  return filled(kF32, {1, 1}, [x] { return x; });
}

/// Three keys of score 2 with 8-bit k and v.
AttentionProblem eight_bits(Format format) {
  AttentionProblem p = three_keys();
  p.k = filled(format, p.k.shape, [] { return 1.0; });
  p.v = filled(format, p.v.shape, [] { return 1.0; });
  return p;
}

TEST_P(SpecialDescale, FactorsMultiply) {
  AttentionProblem p = eight_bits(Format::e4m3fn);
  p.q_descale = factor(-3.0);
  p.k_descale = factor(0.5);
  p.v_descale = factor(0.1F);
  const Truth truth = truth_of(p);
  expect_near(truth.lse[0], -3.0 + std::log(3.0));
  expect_near(truth.o[0], 0.1F);
  p.bias = Tensor::dense(kF32, {1, 1, 1, 3});
  for (const std::int64_t j : {0, 1, 2}) p.bias.set({0, 0, 0, j}, 7.0);
  expect_near(truth_of(p).lse[0], 4.0 + std::log(3.0));  // the bias is not descaled
}

TEST_P(SpecialDescale, AProductOfThreeThatNoFloatHolds) {
  AttentionProblem p = three_keys();
  p.scale = 0x1p-149F;
  p.q_descale = factor(0x1p-149);
  p.k_descale = factor(0x1p+127);
  for (const std::int64_t j : {0, 1, 2}) p.k.set({0, 0, j, 0}, 0x1p+127), p.k.set({0, 0, j, 1}, 0.0);
  p.q.set({0, 0, 0, 0}, 0x1p+44);
  expect_near(truth_of(p).lse[0], 1.0 + std::log(3.0));
}

TEST_P(SpecialDescale, AZeroFactorOfTheScores) {
  for (Tensor AttentionProblem::* const which : {&AttentionProblem::q_descale, &AttentionProblem::k_descale}) {
    AttentionProblem p = three_keys();
    p.*which = factor(0.0);
    expect_near(truth_of(p).lse[0], std::log(3.0));
    p.k.set({0, 0, 1, 0}, kInfinity);  // 0 · inf
    expect_nan_row(truth_of(p));
  }
}

TEST_P(SpecialDescale, ANegativeFactorTurnsInfinities) {
  AttentionProblem p = three_keys();
  p.k.set({0, 0, 1, 0}, kInfinity);
  expect_nan_row(truth_of(p));
  p.k_descale = factor(-0x1p-149);
  expect_near(truth_of(p).lse[0], std::log(2.0));  // −inf hides it
  p.q_descale = factor(-1.0);
  expect_nan_row(truth_of(p));
  p.softcap = 3.0F;
  expect_near(truth_of(p).lse[0], std::log(2.0 + std::exp(3.0)));
  p.q_descale = factor(1.0);
  expect_near(truth_of(p).lse[0], std::log(2.0 + std::exp(-3.0)));
}

TEST_P(SpecialDescale, InfiniteValuesTimesAFactor) {
  AttentionProblem p = three_keys();
  p.v.set({0, 0, 1, 0}, kInfinity);
  p.v_descale = factor(2.0);
  EXPECT_EQ(truth_of(p).o[0].classes, kPosInf | kNaN);
  p.v_descale = factor(-2.0);
  EXPECT_EQ(truth_of(p).o[0].classes, kNegInf | kNaN);
  expect_near(truth_of(p).o[1], -2.0);
  p.v.set({0, 0, 2, 0}, -kInfinity);
  EXPECT_EQ(truth_of(p).o[0].classes, kPosInf | kNegInf | kNaN);
  p.v_descale = factor(0.0);
  EXPECT_EQ(truth_of(p).o[0].classes, kNaN);
  expect_exactly(truth_of(p).o[1], 0.0);
  expect_near(truth_of(p).lse[0], 2.0 + std::log(3.0));
  p.v.set({0, 0, 0, 1}, kNan);
  EXPECT_EQ(truth_of(p).o[1].classes, kNaN);
}

TEST_P(SpecialDescale, RowsThatAreDecidedStayDecided) {
  AttentionProblem p = three_keys();
  p.v_descale = factor(-0x1.fffffep+127);
  p.key_length = {0};
  expect_zeros(truth_of(p));
  EXPECT_EQ(truth_of(p).lse[0].classes, kNegInf);
  p.key_length.clear();
  p.k.set({0, 0, 0, 0}, kNan);
  expect_nan_row(truth_of(p));
}

TEST_P(SpecialDescale, SpecialNumbersOfEightBits) {
  AttentionProblem p = eight_bits(Format::e4m3fn);
  p.k.set_bits(2, 0x7f);
  expect_nan_row(truth_of(p));
  p = eight_bits(Format::e4m3fn);
  p.k.set_bits(2, 0xff);
  expect_nan_row(truth_of(p));
  p = eight_bits(Format::e4m3fn);
  p.v.set_bits(1, 0x7f);
  EXPECT_EQ(truth_of(p).o[1].classes, kNaN);
  expect_near(truth_of(p).o[0], 1.0);
  p.v.set_bits(1, 0x7e);  // 448
  expect_near(truth_of(p).o[1], 150.0);
  p = eight_bits(Format::e5m2);
  p.k.set({0, 0, 1, 0}, -kInfinity);
  expect_near(truth_of(p).lse[0], 2.0 + std::log(2.0));
  p.v.set({0, 0, 0, 0}, kInfinity);
  EXPECT_EQ(truth_of(p).o[0].classes, kPosInf | kNaN);
  p.k.set({0, 0, 0, 0}, kInfinity);
  expect_nan_row(truth_of(p));
  p = eight_bits(Format::e5m2);
  p.q = filled(Format::e4m3fn, p.q.shape, [] { return kNan; });
  expect_nan_row(truth_of(p));
}

// Every pattern of both formats as v and as k, against decode().
TEST_P(SpecialDescale, EveryNumberOfEightBits) {
  for (const Format format : {Format::e4m3fn, Format::e5m2}) {
    AttentionProblem p = attention(
        kF32, {.sq = 1, .sk = 1, .d = 1, .dv = 256}, [] { return 1.0; }, [] { return 0.0; }, [] { return 0.0; });
    p.k = Tensor::dense(format, p.k.shape);
    p.v = Tensor::dense(format, p.v.shape);
    p.k.set_bits(0, 0);
    for (std::int64_t c = 0; c < 256; ++c) p.v.set_bits(c, static_cast<std::uint64_t>(c));
    const Truth truth = truth_of(p);
    for (std::int64_t c = 0; c < 256; ++c) {
      const double x = decode(format, static_cast<std::uint64_t>(c));
      if (std::isfinite(x)) {
        EXPECT_EQ(truth.o[c].hi, x);
      } else {
        EXPECT_NE(truth.o[c].classes, kFinite);
      }
    }
    p.scale = 1.0F;
    for (std::uint64_t bits = 0; bits < 256; ++bits) {
      p.k.set_bits(0, bits);
      const double x = decode(format, bits);
      if (!std::isfinite(x)) continue;
      EXPECT_EQ(truth_of(p).lse[0].hi, x);
    }
  }
}

}  // namespace
}  // namespace flashproof::test
