// Each law on hand-made evaluations; teeth_test.cc runs them on real kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "properties/laws/law.h"
#include "reference/error/test/scene.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

Verdict check(std::string_view law, const Scene& s) {
  Kernel kernel{};
  kernel.id = "test.synthetic.hardened";
  const Case subject;
  const Judgement judgement = judge(s.output, s.truth, s.bound, kernel.contract, 0);
  return find_law(law)->judge({kernel, subject, s.output, s.truth, s.bound, judgement});
}

std::string text(std::string_view law, const Scene& s) { return to_string(check(law, s)); }

TEST(Laws, TheListHasDistinctNamesAndTeeth) {
  std::set<std::string_view> names;
  for (const Law& law : laws()) {
    names.insert(law.name);
    EXPECT_NE(law.judge == nullptr, law.relate == nullptr && law.of_gradients == nullptr) << law.name;
    EXPECT_EQ(find_law(law.name), &law);
    EXPECT_FALSE(law.summary.empty());
    EXPECT_FALSE(law.must_reject.empty()) << law.name << " names no kernel that it must reject";
  }
  EXPECT_EQ(names.size(), laws().size());
  EXPECT_EQ(judging_laws().size(), 3U);
  EXPECT_EQ(find_law("within_bounds"), nullptr);
}

TEST(Laws, AreAskedOfTheirProblems) {
  for (const ProblemKind kind : kProblemKinds) {
    for (const Law& law : judging_laws()) EXPECT_TRUE(law.is_of(kind)) << law.name;
    for (const Law* law : laws_of(kind)) EXPECT_TRUE(law->is_of(kind));
    EXPECT_EQ(laws_of(kind).front(), &laws().front());
  }
  const auto names = [](ProblemKind kind) {
    std::set<std::string_view> set;
    for (const Law* law : laws_of(kind)) set.insert(law->name);
    return set;
  };
  EXPECT_TRUE(names(ProblemKind::backward).contains("dv_sums_to_d_out"));
  EXPECT_FALSE(names(ProblemKind::attention).contains("dv_sums_to_d_out"));
  EXPECT_FALSE(names(ProblemKind::backward).contains("merge_commutes"));
}

TEST(Laws, AnEarlierNameStillFindsItsLaw) {
  EXPECT_EQ(find_law("gradient_fully_written"), find_law("outputs_fully_written"));
  EXPECT_EQ(find_law("gradient_rows_sum_to_zero"), find_law("dq_is_zero_for_equal_keys"));
  EXPECT_EQ(find_law("gradient_merge_commutes"), nullptr);
  const std::string globs[] = {"gradient_no_race", "*_semantics"};
  EXPECT_THAT(select_laws(globs), testing::ElementsAre(find_law("class_matches_semantics"), find_law("no_race")));
  const std::string none[] = {"gradient_nothing"};
  EXPECT_THROW(select_laws(none), UsageError);
}

TEST(Laws, all_accept_the_right_answer_and_none_passes_an_empty_one) {
  for (const Law& law : judging_laws()) {
    for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
      EXPECT_EQ(text(law.name, make_scene(3, 4, format)), "pass");
    }
    EXPECT_EQ(text(law.name, make_scene(0, 4)), "vacuous");
  }
}

TEST(WithinBound, NamesTheElementFurthestOutsideWithItsTerms) {
  Scene s = make_scene(3, 4);
  s.set_o(0, 1, 0.4);
  s.set_true_o(2, 3, {0.75, 0, 0});
  s.bound_o(2, 3) = {0x1p-22, 0x1p-20, 0, 0};
  s.set_o(2, 3, 2.75);
  const Verdict v = check("within_bound", s);
  EXPECT_EQ(to_string(v), "fail(exceeds_bound)");
  EXPECT_THAT(v.detail, HasSubstr("o[row 2, column 3]: computed 2.75 (0x40300000, f32), exact 0.75 "));
  EXPECT_THAT(v.detail, HasSubstr("error 2,"));
  EXPECT_THAT(v.detail, HasSubstr("(numerator dominates)"));
  EXPECT_THAT(v.detail, HasSubstr("; 1 more"));
  EXPECT_EQ(text("class_matches_semantics", s), "pass");
  EXPECT_EQ(text("outputs_fully_written", s), "pass");
}

TEST(WithinBound, LseAndSilentlyWrong) {
  Scene s = make_scene(3, 4);
  s.set_lse(1, 7);
  EXPECT_THAT(check("within_bound", s).detail, HasSubstr("lse[row 1]: computed 7"));
  s.set_o(0, 0, 100);  // further outside, but out-of-domain silence is the more severe finding
  s.bound.domain[1].require({"partial sums below the accumulator's range", 2, 1});
  const Verdict v = check("within_bound", s);
  EXPECT_EQ(to_string(v), "fail(silently_wrong)");
  EXPECT_THAT(v.detail, HasSubstr("lse[row 1]"));
  EXPECT_THAT(v.detail, HasSubstr("out of domain: partial sums"));
}

TEST(WithinBound, LeavesClassesToTheOtherLaw) {
  Scene s = make_scene(2, 2);
  s.set_o(0, 0, kNan);
  EXPECT_EQ(text("within_bound", s), "pass");
  for (std::int64_t r = 0; r < 2; ++r) {
    s.set_lse(r, kInfinity);
    for (std::int64_t c = 0; c < 2; ++c) s.set_o(r, c, kNan);
  }
  EXPECT_EQ(text("within_bound", s), "vacuous");  // measured nothing: never a pass
  EXPECT_EQ(text("class_matches_semantics", s), "fail(class_mismatch)");
}

TEST(WithinBound, VacuousOutOfDomainInconclusive) {
  Scene vacuous = make_scene(1, 2), outside = vacuous, unsure = vacuous;
  vacuous.bound.range = {0, 0};
  EXPECT_EQ(text("within_bound", vacuous), "pass");  // lse was tested
  vacuous.bound.lse[0].weights = kInfinity;
  EXPECT_EQ(text("within_bound", vacuous), "vacuous");
  EXPECT_EQ(text("class_matches_semantics", vacuous), "pass");
  outside.bound.domain[0].require({"head-room", 2, 1});
  outside.set_o(0, 1, kInfinity);
  EXPECT_EQ(text("within_bound", outside), "out_of_domain");
  EXPECT_EQ(text("class_matches_semantics", outside), "out_of_domain");
  EXPECT_THAT(check("within_bound", outside).detail, HasSubstr("head-room"));
  unsure.set_true_o(0, 1, {1.0 / 3, 0, 1});
  EXPECT_EQ(text("within_bound", unsure), "inconclusive");
  EXPECT_EQ(text("class_matches_semantics", unsure), "pass");
  unsure.set_true_o(0, 1, {info(Format::f32).max_finite, 0, 0x1p103});
  unsure.set_o(0, 1, kInfinity);
  EXPECT_EQ(text("class_matches_semantics", unsure), "inconclusive");
}

TEST(ClassMatchesSemantics, SaysNothingWhereAnythingIsDeclaredToDo) {
  Scene s = make_scene(2, 4);
  s.set_o(0, 0, kNan);
  s.set_true_class(0, 0, kUnspecified);
  EXPECT_EQ(text("class_matches_semantics", s), "pass");
  for (std::int64_t i = 0; i < 8; ++i) s.set_true_class(i / 4, i % 4, kUnspecified);
  EXPECT_EQ(text("class_matches_semantics", s), "vacuous");
}

TEST(ClassMatchesSemantics, MismatchAndLaundering) {
  Scene nan = make_scene(3, 4), inf = nan, laundered = nan, right = nan;
  nan.set_o(1, 2, kNan);
  inf.set_lse(2, -kInfinity);
  EXPECT_EQ(text("class_matches_semantics", nan), "fail(class_mismatch)");
  EXPECT_THAT(check("class_matches_semantics", nan).detail, HasSubstr("o[row 1, column 2]: computed nan"));
  EXPECT_EQ(text("class_matches_semantics", inf), "fail(class_mismatch)");
  EXPECT_THAT(check("class_matches_semantics", inf).detail, HasSubstr("lse[row 2]: computed -inf"));
  laundered.set_true_class(1, 2, kNaN);
  EXPECT_EQ(text("class_matches_semantics", laundered), "fail(laundering)");
  EXPECT_THAT(check("class_matches_semantics", laundered).detail, HasSubstr("exact nan"));
  EXPECT_EQ(text("within_bound", laundered), "pass");
  right.set_true_class(1, 2, kNaN);
  right.set_o(1, 2, kNan);
  right.truth.lse.set(0, {0, 0, 0, kNegInf});
  right.set_lse(0, -kInfinity);
  EXPECT_EQ(text("class_matches_semantics", right), "pass");
}

TEST(OutputsFullyWritten, SeesPoisonEvenWhereNanIsRight) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    Scene s = make_scene(3, 4, format);
    s.set_true_class(2, 1, kNaN);
    s.set_o(2, 1, kNan);
    EXPECT_EQ(text("outputs_fully_written", s), "pass");  // an ordinary NaN is not the poison
    s.output.o.set_bits(s.offset(2, 1), poison_bits(format));
    EXPECT_EQ(text("class_matches_semantics", s), "pass");
    const Verdict v = check("outputs_fully_written", s);
    EXPECT_EQ(to_string(v), "fail(unwritten)");
    EXPECT_THAT(v.detail, HasSubstr("1 of 15 elements were never written, first o[row 2, column 1]"));
  }
  Scene s = make_scene(3, 4);
  s.output.lse.set_bits(1, poison_bits(Format::f32));
  s.output.lse.set_bits(2, poison_bits(Format::f32));
  EXPECT_THAT(check("outputs_fully_written", s).detail,
              HasSubstr("2 of 15 elements were never written, first lse[row 1]"));
}

}  // namespace
}  // namespace flashproof
