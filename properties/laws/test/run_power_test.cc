// What a whole run says: one alternative for all cases of an open declaration, and a declaration that excuses too much.
#include "properties/laws/run_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "properties/laws/trial.h"
#include "reference/bound/alternatives.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/declare/arithmetic_json.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

CaseSpec spec_of(std::string_view family, std::uint64_t seed) {
  return {ProblemKind::attention, std::string(family), seed, {{"format", "f32"}}};
}

constexpr Format kF16 = Format::f16;

Kernel open_kernel(ProblemKind problem) {
  Kernel kernel;
  kernel.problem = problem;
  kernel.formats = std::span(&kF16, 1);
  if (problem == ProblemKind::backward) {
    kernel.backward_one_of = parse_backward_arithmetic("unknown", kF16);
  } else {
    kernel.arithmetic = parse_arithmetic("unknown", problem, kF16);
  }
  return kernel;
}

TEST(Explanation, two_cases_that_two_alternatives_explain_are_no_explanation) {
  const Kernel kernel = open_kernel(ProblemKind::attention);
  const std::vector<std::string> members = alternative_members(kernel);
  ASSERT_GE(members.size(), 3U);
  Explanation explanation;
  EXPECT_FALSE(explanation.contradiction(members));
  explanation.add({.asked = 0b111, .failed = 0b001}, spec_of("normal", 1));
  EXPECT_FALSE(explanation.contradiction(members));
  EXPECT_EQ(explanation.explaining(), 1U);
  const Arithmetic& open = kernel.arithmetic;
  EXPECT_EQ(explanation.suggestion(members), difference_json(open, alternatives(open, ProblemKind::attention)[1]));
  explanation.add({.asked = 0b111, .failed = 0b110}, spec_of("huge", 2));
  const auto contradiction = explanation.contradiction(members);
  ASSERT_TRUE(contradiction);
  EXPECT_TRUE(contradiction->verdict.failed());
  EXPECT_THAT(contradiction->verdict.detail, HasSubstr("attention:huge:2:format=f32"));
  EXPECT_FALSE(explanation.explaining());
}

TEST(Explanation, a_declaration_that_is_not_open_has_none) {
  Explanation explanation;
  explanation.add({.asked = 1, .failed = 1}, spec_of("normal", 1));
  EXPECT_FALSE(explanation.contradiction(alternative_members(open_kernel(ProblemKind::attention))));
  EXPECT_FALSE(explanation.explaining());
}

TEST(Explanation, of_a_gradient_one_backward_pass_explains_every_case_or_the_run_fails) {
  const Kernel kernel = open_kernel(ProblemKind::backward);
  const std::size_t count = kernel.backward_one_of.size();
  ASSERT_GE(count, 3U);
  const std::uint32_t all = (1U << count) - 1;
  RunDecisions decisions;
  decisions.add(spec_of("normal", 1), {.asked = all, .failed = 0b1}, {});
  EXPECT_FALSE(decisions.conclude(kernel).contradiction);
  EXPECT_EQ(decisions.conclude(kernel).suggestion, R"("preset": "cudnn", "scale": "weights", "unit": "natural")");
  decisions.add(spec_of("huge", 2), {.asked = all, .failed = all & ~1U}, {});
  const Conclusion conclusion = decisions.conclude(kernel);
  ASSERT_TRUE(conclusion.contradiction);
  EXPECT_TRUE(conclusion.contradiction->verdict.failed());
  EXPECT_THAT(conclusion.contradiction->verdict.detail, HasSubstr("cudnn"));
  EXPECT_EQ(conclusion.suggestion, "");
}

/// Raw scores have no bound beside a bias: of those cases the others are asked.
TEST(Trial, a_gradient_is_judged_by_each_backward_pass_that_has_a_bound) {
  Kernel kernel = open_kernel(ProblemKind::backward);
  const std::size_t count = kernel.backward_one_of.size();
  const auto raw =
      static_cast<std::size_t>(std::ranges::count(kernel.backward_one_of, ScoreUnit::raw, &BackwardArithmetic::unit));
  ASSERT_GT(raw, 0U);
  std::set<std::size_t> judged;
  for (std::uint64_t seed = 0; seed < 12 && judged.size() < 2; ++seed) {
    const std::string family = seed % 2 == 0 ? "normal" : "alibi";
    const Case subject = make_case({ProblemKind::backward, family, seed, {{"format", "f16"}}});
    const auto& problem = std::get<BackwardProblem>(subject.problem);
    const Runner nothing = [&](const Kernel&, const Problem&, const RunOptions&) {
      Output output;
      output[Part::dq] = Tensor::dense(kF16, problem.forward.q.shape);
      output[Part::dk] = Tensor::dense(kF16, problem.forward.k.shape);
      output[Part::dv] = Tensor::dense(kF16, problem.forward.v.shape);
      return output;
    };
    Trial trial(kernel, subject, nullptr, {}, nothing);
    const bool added = problem.forward.has_bias() || problem.forward.has_alibi();
    EXPECT_EQ(trial.judged().size(), added ? count - raw : count) << to_string(subject.spec);
    judged.insert(trial.judged().size());
    for (const Trial::Judged& by : trial.judged()) {
      const Bound alone = backward_bound(problem, kernel.backward_one_of[by.alternative], forward_errors(problem));
      EXPECT_EQ(by.bound.dq.front().total(), alone.dq.front().total()) << by.alternative;
    }
  }
  EXPECT_EQ(judged, (std::set{count - raw, count}));
}

Power power_of_counts(std::uint64_t decided, std::uint64_t outside) {
  Power power;
  power.of(Part::o).counts[static_cast<std::size_t>(Decided::yes)] = decided;
  power.of(Part::o).counts[static_cast<std::size_t>(Decided::outside)] = outside;
  return power;
}

TEST(RunDecisions, cases_that_have_no_bound_are_no_pass) {
  RunDecisions decisions;
  decisions.offer("softcap", true);
  EXPECT_THAT(decisions.conclude().undecided, testing::ElementsAre(testing::HasSubstr("has a bound")));
}

/// Of states (m, l, O) one alternative has a meaning, and not the one that explains the rest.
TEST(RunDecisions, cases_for_which_the_explaining_alternative_has_no_meaning_count_by_another) {
  RunDecisions decisions;
  for (const char* family : {"normal", "states", "softcap", "sizes"}) decisions.offer(family, true);
  decisions.refuse("sizes");
  decisions.add(spec_of("normal", 1), {.asked = 0b111, .failed = 0b100},
                {{0, power_of_counts(10, 0)}, {1, power_of_counts(10, 0)}, {2, power_of_counts(10, 0)}});
  decisions.add(spec_of("states", 1), {.asked = 0b100, .failed = 0}, {{2, power_of_counts(10, 0)}});
  const Conclusion conclusion = decisions.conclude();
  EXPECT_THAT(conclusion.open, testing::ElementsAre("sizes (refused)", "softcap (not judged)"));
  EXPECT_EQ(conclusion.families, 4U);
  // Of a group the first that has not failed there.
  decisions.add(spec_of("softcap", 1), {.asked = 0b110, .failed = 0b010},
                {{1, power_of_counts(0, 10)}, {2, power_of_counts(10, 0)}});
  EXPECT_THAT(decisions.conclude().open, testing::ElementsAre("sizes (refused)"));
}

TEST(RunDecisions, a_law_has_the_power_of_the_cases_of_which_it_says_something) {
  RunDecisions decisions;
  for (const char* family : {"normal", "huge"}) decisions.offer(family, true);
  const AlternativesSeen one{.asked = 0b11, .failed = 0b01}, other{.asked = 0b11, .failed = 0};
  // By the alternative that explains the run: the other would have decided all.
  const std::map<std::size_t, Power> all = {{0, power_of_counts(0, 10)}, {1, power_of_counts(10, 0)}};
  const std::map<std::size_t, Power> nothing = {{0, power_of_counts(10, 0)}, {1, power_of_counts(0, 10)}};
  decisions.add(spec_of("normal", 1), one, all);
  decisions.said("shift_invariance", spec_of("normal", 1), one, all);
  decisions.add(spec_of("huge", 1), other, nothing);
  decisions.said("shift_invariance", spec_of("huge", 1), other, nothing);
  decisions.said("convex_hull", spec_of("huge", 1), other, nothing);
  const Conclusion conclusion = decisions.conclude();
  EXPECT_EQ(conclusion.by_law.at("convex_hull").of(Part::o).share(), 0);
  EXPECT_EQ(conclusion.by_law.at("shift_invariance").of(Part::o).share(), 0.5);
  EXPECT_EQ(undecided_promise("shift_invariance", conclusion.by_law.at("shift_invariance")), "");
  EXPECT_THAT(undecided_promise("convex_hull", conclusion.by_law.at("convex_hull")),
              HasSubstr("convex_hull was asked, and of its cases nothing of o was decided"));
}

TEST(RunPower, nothing_judged_is_said_so) {
  RunPower run;
  EXPECT_EQ(run.undecided(), "");
  run.ask("normal");
  EXPECT_THAT(run.undecided(), HasSubstr("no case was judged: none"));
  run.refuse("normal", 12);
  EXPECT_EQ(run.undecided(), "no case was judged: 12 were refused when the kernel was called");
  run.add(spec_of("normal", 0), power_of_counts(10, 0), 35);
  EXPECT_EQ(run.undecided(),
            "of 47 cases that the declaration takes 12 were refused when the kernel was called: normal 12 of 47");
  run.add(spec_of("normal", 0), power_of_counts(10, 0));
  EXPECT_EQ(run.undecided(), "") << "a quarter";
  run.refuse("huge", 1);
  run.add(spec_of("pairs", 0), power_of_counts(10, 0), 100);
  EXPECT_EQ(
      run.undecided(),
      "of 149 cases that the declaration takes 13 were refused when the kernel was called: huge 1 of 1, normal 12 "
      "of 48")
      << "every family counts alike";
}

TEST(RunPower, outputs_without_an_element_are_no_pass_and_a_family_of_them_is_not_decided) {
  RunPower run;
  run.add(spec_of("zero_length", 0), Power{});
  EXPECT_EQ(run.undecided(), "no element was judged: every output is empty");
  run.add(spec_of("normal", 0), power_of_counts(10, 0));
  EXPECT_THAT(run.open(), testing::ElementsAre("zero_length (no element)"));
  EXPECT_EQ(run.undecided(), "of 2 input families 1 have too little decided: zero_length (no element)");
  run.add(spec_of("huge", 0), power_of_counts(10, 0));
  EXPECT_EQ(run.undecided(), "") << "two thirds are decided";
  run.add(spec_of("zero_length", 1), power_of_counts(1, 0));
  EXPECT_THAT(run.open(), testing::IsEmpty()) << "a case of the family has elements";
}

TEST(RunPower, a_family_is_lost_where_most_of_it_lies_outside) {
  RunPower run;
  run.add(spec_of("normal", 0), power_of_counts(5, 5));
  run.add(spec_of("huge", 0), power_of_counts(4, 6));
  EXPECT_THAT(run.lost(), testing::ElementsAre("huge"));
  EXPECT_THAT(run.undecided(), HasSubstr("45 % of o was decided"));
}

/// P in e4m3 times 512 leaves the format's range: every row is outside, and NaN everywhere would do.
KernelDeclaration beyond_e4m3() {
  KernelDeclaration kernel = *find_kernel("attention.mma_e4m3p.hardened");
  kernel.arithmetic.weights.scale = 512;
  return kernel;
}

TEST(RunPower, a_scale_that_puts_every_row_outside_is_named) {
  ASSERT_NE(find_kernel("attention.mma_e4m3p.hardened"), nullptr);
  const KernelDeclaration kernel = beyond_e4m3();
  RunPower run;
  for (const Family& family : families()) {
    if (!family.serves(ProblemKind::attention)) continue;
    const CaseSpec spec{ProblemKind::attention, std::string(family.name), 0, {{"format", "f16"}}};
    run.add(spec, power_of_counts(0, 10));
  }
  const std::string text = run.narrow_declaration(kernel);
  EXPECT_THAT(text, HasSubstr("\"weights\""));
  EXPECT_THAT(text, HasSubstr("normal, "));
  EXPECT_THAT(text, HasSubstr("NaN would pass"));
}

/// A run of one family is no way around it; where the form itself has its range, it is no finding that this family lies beyond.
TEST(RunPower, a_field_that_loses_the_families_asked_is_named_an_algorithm_with_a_range_is_not) {
  ASSERT_NE(find_kernel("attention.mma_e4m3p.hardened"), nullptr);
  RunPower run;
  run.add({ProblemKind::attention, "normal", 0, {{"format", "f16"}}}, power_of_counts(0, 10));
  EXPECT_THAT(run.narrow_declaration(beyond_e4m3()), HasSubstr("\"weights\""));
  EXPECT_THAT(run.narrow_declaration(beyond_e4m3()), HasSubstr("1 of 1 input families"));
  EXPECT_EQ(run.narrow_declaration(*find_kernel("attention.mma_e4m3p.hardened")), "");
  run.ask("huge");
  EXPECT_EQ(run.narrow_declaration(beyond_e4m3()), "") << "half of two is not most";
}

/// Of a gradient it is the same. Sums so coarse that no e^(s − lse) is known to stay in the f32 range.
TEST(RunPower, a_field_of_a_gradient_that_loses_the_families_asked_is_named) {
  KernelDeclaration kernel = *find_kernel("attention_backward.two_kernels.hardened");
  Power outside;
  for (const Part part : kGradientParts) outside.of(part).counts[static_cast<std::size_t>(Decided::outside)] = 10;
  RunPower run;
  for (const char* mode : {"stage", "gradient"})
    run.add({ProblemKind::backward, "normal", 1, {{"format", "f32"}, {"mode", mode}, {"d", "32"}}}, outside);
  EXPECT_EQ(run.narrow_declaration(kernel), "");
  kernel.backward.dot.unit = {.k = 1, .f = 1, .ofb = 7};
  EXPECT_THAT(run.narrow_declaration(kernel), HasSubstr("\"dot\": "));
  EXPECT_THAT(run.narrow_declaration(kernel), HasSubstr("1 of 1 input families"));
  // Of an open declaration by the one that explains the run.
  BackwardArithmetic right = kernel.backward;
  right.dot.unit = {};
  kernel.backward_one_of = {right, kernel.backward};
  EXPECT_EQ(run.narrow_declaration(kernel, 0), "");
  EXPECT_THAT(run.narrow_declaration(kernel, 1), HasSubstr("\"dot\": "));
}

TEST(RunPower, what_names_the_algorithm_is_no_field_that_excuses) {
  const KernelDeclaration* states = find_kernel("merge.states.hardened");
  ASSERT_NE(states, nullptr);
  RunPower merges;
  merges.add({ProblemKind::merge, "huge", 0, {{"format", "f32"}}}, power_of_counts(0, 10));
  EXPECT_EQ(merges.narrow_declaration(*states), "");
  KernelDeclaration softmax = *find_kernel("softmax.safe.hardened");
  softmax.arithmetic =
      parse_arithmetic(R"({"preset": "unknown", "exp_error": 0.3})", ProblemKind::softmax, Format::f32);
  RunPower run;
  run.add({ProblemKind::softmax, "normal", 0, {{"format", "f32"}}}, power_of_counts(0, 10));
  EXPECT_THAT(run.narrow_declaration(softmax), HasSubstr("\"exp_error\""));
}

}  // namespace
}  // namespace flashproof
