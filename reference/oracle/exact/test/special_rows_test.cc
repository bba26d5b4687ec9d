// Softmax and merge: every row of the table of special values.
#include "reference/oracle/exact/test/special_values.h"

namespace flashproof::test {
namespace {

class SpecialSoftmax : public SpecialValues {};
INSTANTIATE_TEST_SUITE_P(Sources, SpecialSoftmax, testing::Values(Source::exact_tier, Source::oracle));

class SpecialMerge : public SpecialValues {};
INSTANTIATE_TEST_SUITE_P(Sources, SpecialMerge, testing::Values(Source::exact_tier, Source::oracle));

TEST_P(SpecialSoftmax, Rows) {
  SoftmaxProblem p = softmax(kF32, 4, 3, [] { return 1.0; });
  p.x.set({0, 0}, kNan);
  p.x.set({0, 1}, -kInfinity);
  p.x.set({1, 2}, kInfinity);
  for (const std::int64_t j : {0, 1, 2}) p.x.set({2, j}, -kInfinity);
  p.row_length = {3, 3, 3, 2};
  p.x.set({3, 2}, kNan);
  const Truth truth = truth_of(p);
  EXPECT_EQ(truth.o[0].classes, kNaN);
  EXPECT_EQ(truth.o[1].classes, kZeroOrNan);
  EXPECT_EQ(truth.o[2].classes, kNaN);
  EXPECT_EQ(truth.lse[0].classes, kNaN);
  for (int c = 3; c < 6; ++c) EXPECT_EQ(truth.o[c].classes, kNaN);
  EXPECT_EQ(truth.lse[1].classes, kNaN);
  for (int c = 6; c < 9; ++c) expect_exactly(truth.o[c], 0.0);
  EXPECT_EQ(truth.lse[2].classes, kNegInf);
  expect_near(truth.o[9], 0.5);
  expect_exactly(truth.o[11], 0.0);
  p.row_length = {2, 3, 3, 2};
  EXPECT_EQ(truth_of(p).o[2].classes, kZeroOrNan);  // beyond the length of a NaN row
}

TEST_P(SpecialMerge, EmptyStateIsTheIdentityWhateverItHolds) {
  for (const double junk : {kNan, kInfinity, -kInfinity, 3e38}) {
    MergeProblem p = merge(kF32, 3, 1, 2, [] { return 2.0; }, [] { return 1.0; }, MergeForm::sum);
    p.lse.set({1, 0}, -kInfinity);
    p.o.set({1, 0, 0}, junk);
    const Truth truth = truth_of(p);
    for (std::size_t i = 0; i < truth.o.size(); ++i) {
      expect_near(truth.o[i], 2.0);
    }
    p.form = MergeForm::concat;
    const Truth blocks = truth_of(p);
    const double expected[] = {1.0, 1.0, 0.0, 0.0, 1.0, 1.0};
    for (int c = 0; c < 6; ++c) {
      expect_near(blocks.o[c], expected[c]);
    }
  }
}

TEST_P(SpecialMerge, OnlyEmptyStates) {
  for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
    const Truth truth = truth_of(merge(kF32, 3, 1, 2, [] { return kNan; }, [] { return -kInfinity; }, form));
    expect_zeros(truth);
    EXPECT_EQ(truth.lse[0].classes, kNegInf);
  }
}

TEST_P(SpecialMerge, PoisonedLse) {
  for (const double lse : {kNan, kInfinity}) {
    MergeProblem p = merge(kF32, 3, 2, 1, [] { return 2.0; }, [] { return 1.0; }, MergeForm::sum);
    p.lse.set({0, 0}, lse);
    p.lse.set({1, 0}, -kInfinity);
    Truth truth = truth_of(p);
    EXPECT_EQ(truth.o[0].classes, kNaN);
    EXPECT_EQ(truth.lse[0].classes, kNaN);
    expect_near(truth.o[1], 2.0);  // the other row does not see it
    EXPECT_EQ(truth.lse[1].classes, kFinite);
    p.form = MergeForm::concat;
    truth = truth_of(p);
    EXPECT_EQ(truth.o[0].classes, kNaN);
    EXPECT_EQ(truth.o[1].classes, kZeroOrNan);  // the empty block of a NaN row
    EXPECT_EQ(truth.o[2].classes, kNaN);
  }
}

/// Three un-normalised states of m = 1, l = 2 and O = 4: o = 2, lse = 1 + ln 6.
MergeProblem three_states(MergeForm form) {
  MergeProblem p = merge(kF32, 3, 1, 2, [] { return 4.0; }, [] { return 1.0; }, form);
  p.l = filled(kF32, {3, 1}, [] { return 2.0; });
  return p;
}

TEST_P(SpecialMerge, AnUnnormalisedStateWithoutWeightIsTheIdentityWhateverItHolds) {
  for (const double junk : {kNan, kInfinity, -kInfinity, 3e38}) {
    for (const bool by_m : {true, false}) {
      for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
        MergeProblem p = three_states(form);
        if (by_m) {
          p.lse.set({1, 0}, -kInfinity);
          p.l.set({1, 0}, junk);
        } else {
          p.l.set({1, 0}, 0.0);
        }
        p.o.set({1, 0, 0}, junk);
        ASSERT_NO_THROW(validate(p));
        const Truth truth = truth_of(p);
        for (std::size_t i = 0; i < truth.o.size(); ++i) {
          const bool empty = form == MergeForm::concat && i / 2 == 1;
          expect_near(truth.o[i], form == MergeForm::sum ? 2.0 : (empty ? 0.0 : 1.0));
        }
        expect_near(truth.lse[0], 1.0 + std::log(4.0));
      }
    }
  }
}

TEST_P(SpecialMerge, OnlyUnnormalisedStatesWithoutWeight) {
  for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
    MergeProblem p = three_states(form);
    p.l.set({0, 0}, 0.0);
    p.l.set({1, 0}, -0.0);
    p.lse.set({2, 0}, -kInfinity);
    const Truth truth = truth_of(p);
    expect_zeros(truth);
    EXPECT_EQ(truth.lse[0].classes, kNegInf);
  }
}

TEST_P(SpecialMerge, PoisonedUnnormalisedStates) {
  struct Line {
    double m, l;
  };
  for (const auto& [m, l] :
       {Line{1.0, kNan}, Line{1.0, kInfinity}, Line{kNan, 2.0}, Line{kInfinity, 2.0}, Line{kInfinity, 0.0}}) {
    MergeProblem p = three_states(MergeForm::sum);
    p.lse.set({0, 0}, m);
    p.l.set({0, 0}, l);
    p.l.set({1, 0}, 0.0);
    ASSERT_NO_THROW(validate(p));
    Truth truth = truth_of(p);
    EXPECT_EQ(truth.o[0].classes, kNaN) << m << " " << l;
    EXPECT_EQ(truth.lse[0].classes, kNaN) << m << " " << l;
    p.form = MergeForm::concat;
    truth = truth_of(p);
    EXPECT_EQ(truth.o[0].classes, kNaN);
    EXPECT_EQ(truth.o[2].classes, kZeroOrNan);  // the empty block of a NaN row
    EXPECT_EQ(truth.o[4].classes, kNaN);
  }
}

TEST_P(SpecialMerge, SpecialValuesOfStatesThatCount) {
  MergeProblem p = merge(kF32, 2, 1, 3, [] { return 1.0; }, [] { return 0.0; }, MergeForm::sum);
  p.o.set({0, 0, 0}, kNan);
  p.o.set({0, 0, 1}, kInfinity);
  p.o.set({1, 0, 1}, -kInfinity);
  Truth truth = truth_of(p);
  EXPECT_EQ(truth.o[0].classes, kNaN);
  EXPECT_EQ(truth.o[1].classes, kPosInf | kNegInf | kNaN);
  expect_near(truth.o[2], 1.0);
  p.form = MergeForm::concat;
  truth = truth_of(p);
  EXPECT_EQ(truth.o[0].classes, kNaN);
  EXPECT_EQ(truth.o[1].classes, kPosInf | kNaN);
  EXPECT_EQ(truth.o[3].classes, kFinite);
  EXPECT_EQ(truth.o[4].classes, kNegInf | kNaN);
}

}  // namespace
}  // namespace flashproof::test
