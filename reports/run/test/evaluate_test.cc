#include "reports/run/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

/// Softmax of one row of two equal logits: o = (1/2, 1/2), lse = ln 2.
struct Fixture {
  Kernel kernel;
  Case subject;
  Truth truth;
  Bound bound;
  Output output{Tensor::dense(Format::f32, {1, 2}), Tensor::dense(Format::f32, {1})};

  Fixture() {
    kernel.id = "softmax.fake.hardened";
    SoftmaxProblem problem;
    problem.x = Tensor::dense(Format::f32, {1, 2});
    problem.x.set({0, 0}, 0);
    problem.x.set({0, 1}, 0);
    problem.plan = ChunkPlan::uniform(2, 2);
    subject.spec = {ProblemKind::softmax, "equal", 7, {}};
    subject.problem = problem;
    truth.rows = bound.rows = 1;
    truth.width = bound.width = 2;
    truth.o.push_back({0.5});
    truth.o.push_back({0.5});
    truth.lse.push_back({std::log(2.0)});
    truth.tier = {Tier::fp64};
    bound.o = {ElementBound{1e-7, 3e-7, 0, 0}, ElementBound{1e-7, 3e-7, 0, 0}};
    bound.lse = {ElementBound{0, 0, 1e-6, 0}};
    bound.range = {1, 1};
    bound.accumulator_outside = {0, 0};
    bound.domain = {RowDomain{}};
    set(0.5, 0.5, std::log(2.0));
  }
  void set(double a, double b, double lse) {
    output.o.set({0, 0}, a);
    output.o.set({0, 1}, b);
    output.lse.set({0}, lse);
  }
  CaseResult run(std::size_t max_elements = 4) const {
    const Judgement judgement = judge(output, truth, bound, kernel.contract, 3);
    return evaluate({kernel, subject, output, truth, bound, judgement}, 3, max_elements);
  }
};

TEST(Evaluate, the_right_answer_passes_and_shows_its_worst_element) {
  const CaseResult result = Fixture().run();
  EXPECT_EQ(result.verdict.kind, VerdictKind::pass) << result.verdict.detail;
  EXPECT_EQ(result.laws.size(), judging_laws().size());
  EXPECT_EQ(result.failing_elements, 0U);
  ASSERT_EQ(result.elements.size(), 1U);
  EXPECT_LT(result.elements[0].ratio, 1);
}

TEST(Evaluate, a_wrong_element_is_named_with_value_truth_and_bound) {
  Fixture f;
  f.set(0.5, 0.75, std::log(2.0));
  const CaseResult result = f.run();
  EXPECT_TRUE(result.failed());
  EXPECT_EQ(result.verdict.failure, Failure::exceeds_bound);
  ASSERT_EQ(result.elements.size(), 1U);
  const ElementFinding& e = result.elements[0];
  EXPECT_EQ(e.tensor, "o");
  EXPECT_EQ(e.index, 1U);
  EXPECT_EQ(e.computed, 0.75);
  EXPECT_EQ(e.exact, 0.5);
  EXPECT_EQ(e.error, 0.25);
  EXPECT_GT(e.ratio, 1e5);
  EXPECT_EQ(dominating_term(e.bound), "numerator");
  EXPECT_NEAR(dominating_share(e.bound), 0.75, 1e-12);
  const std::string line = verdict_line(f.kernel, Executor::cpu, f.subject.spec, result);
  EXPECT_THAT(line, testing::StartsWith("fail(exceeds_bound) softmax.fake.hardened cpu softmax:equal:7"));
  EXPECT_THAT(element_lines(result).at(0), HasSubstr("column 1"));
  EXPECT_THAT(element_lines(result).at(1), HasSubstr("mostly numerator (75 % of the bound)"));
}

TEST(Evaluate, nan_zeros_and_a_wrong_lse_are_findings) {
  Fixture f;
  f.set(kNan, 0.5, std::log(2.0));
  EXPECT_EQ(f.run().verdict.failure, Failure::class_mismatch);
  f.set(0, 0, std::log(2.0));
  EXPECT_EQ(f.run().failing_elements, 2U);
  f.set(0.5, 0.5, 0.0);
  const CaseResult result = f.run();
  EXPECT_TRUE(result.failed());
  ASSERT_FALSE(result.elements.empty());
  EXPECT_EQ(result.elements[0].tensor, "lse");
}

TEST(Evaluate, only_the_worst_elements_are_kept_but_all_are_counted) {
  Fixture f;
  f.set(0.6, 0.9, 0.694);
  const CaseResult result = f.run(1);
  EXPECT_EQ(result.failing_elements, 3U);
  ASSERT_EQ(result.elements.size(), 1U);
  EXPECT_EQ(result.elements[0].tensor, "o");
  EXPECT_EQ(result.elements[0].index, 1U);
  EXPECT_EQ(element_lines(result).back(), "    and 2 more");
}

TEST(Evaluate, finite_where_nan_is_the_answer_is_laundering_and_its_exact_value_is_nan) {
  Fixture f;
  f.truth.o.set(0, {0, 0, 0, kNaN});
  const CaseResult result = f.run();
  EXPECT_EQ(result.verdict.failure, Failure::laundering);
  ASSERT_FALSE(result.elements.empty());
  EXPECT_TRUE(std::isnan(result.elements[0].exact));
}

TEST(Evaluate, a_vacuous_case_does_not_become_a_pass_through_its_laws) {
  Fixture f;
  f.bound.o = {ElementBound{10, 0, 0, 0}, ElementBound{10, 0, 0, 0}};
  f.bound.lse = {ElementBound{std::numeric_limits<double>::infinity(), 0, 0, 0}};
  EXPECT_EQ(f.run().verdict.kind, VerdictKind::vacuous);
}

TEST(CaseResultText, every_result_survives_the_pipe) {
  Fixture f;
  for (const double x : {0.5, 0.75, kNan, std::numeric_limits<double>::infinity()}) {
    f.set(x, 0.5, x);
    const std::string text = f.run().serialize();
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(CaseResult::deserialize(text).serialize(), text);
  }
  const CaseResult dead = not_judged(9, VerdictKind::fail, Failure::error, "lane 3\twaits\nfor ever");
  const CaseResult back = CaseResult::deserialize(dead.serialize());
  EXPECT_EQ(back.case_index, 9U);
  EXPECT_EQ(back.verdict.detail, "lane 3?waits?for ever");
}

TEST(CaseResultText, a_damaged_line_is_refused) {
  const std::string text = Fixture().run().serialize();
  for (std::size_t length = 0; length < text.size(); length += 7) {
    EXPECT_THROW(CaseResult::deserialize(text.substr(0, length)), UsageError) << length;
  }
  EXPECT_THROW(CaseResult::deserialize(text + "1\t"), UsageError);
  EXPECT_THROW(CaseResult::deserialize("z" + text), UsageError);
}

TEST(WorseRatio, nan_is_the_worst_and_equal_to_itself) {
  EXPECT_TRUE(worse_ratio(2, 1));
  EXPECT_FALSE(worse_ratio(1, 1));
  EXPECT_TRUE(worse_ratio(kNan, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(worse_ratio(kNan, kNan));
  EXPECT_FALSE(worse_ratio(1, kNan));
}

}  // namespace
}  // namespace flashproof
