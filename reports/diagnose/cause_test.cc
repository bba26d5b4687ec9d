// Kernels that compute another function, through the whole diagnosis.
#include "reports/diagnose/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "properties/generators/family.h"
#include "reports/diagnose/diagnosed_kernel.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLike = "attention.deferred.hardened";

std::vector<CaseSpec> specs(std::initializer_list<const char*> lines) {
  std::vector<CaseSpec> list;
  for (const char* line : lines) list.push_back(parse_case_spec(line));
  return list;
}

const std::vector<CaseSpec> kCases =
    specs({"attention:normal:1:format=f32", "attention:normal:2:format=f32", "attention:gqa:1:format=f32",
           "attention:staircase:1:format=f32", "attention:ramp:1:format=f32"});
const std::vector<CaseSpec> kCausal =
    specs({"attention:normal:1:format=f32,sq=7,sk=19,causal=1", "attention:normal:2:format=f32,sq=9,sk=5,causal=1"});

Kernel computing(std::string_view id) {
  const Hypothesis* h = find_hypothesis(ProblemKind::attention, id);
  return kernel_that(kLike, [h](const Problem& problem, const RunOptions&) {
    return output_of(*h, problem, find_kernel(kLike)->arithmetic);
  });
}

bool says(const Cause& cause, std::string_view id) {
  return cause.id == id || std::ranges::find(cause.others, id) != cause.others.end();
}

TEST(Cause, names_what_a_kernel_computes_instead) {
  for (const char* id : {"scale.twice", "lse.base_2", "keys.last_missing", "keys.first_twice", "exponent.log2e_missing",
                         "o.undivided"}) {
    const std::vector<Cause> causes = diagnose(computing(id), kCases, {}, Executor::cpu);
    ASSERT_FALSE(causes.empty()) << id;
    EXPECT_TRUE(says(causes[0], id)) << id << " is told as " << causes[0].id;
    EXPECT_TRUE(causes[0].confident) << id;
    EXPECT_EQ(causes[0].cases, causes[0].failing_cases) << id;
  }
}

TEST(Cause, says_where_a_hypothesis_holds) {
  const std::vector<Cause> causes = diagnose(computing("causal.top_left"), kCausal, kCases, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "causal.top_left");
  EXPECT_TRUE(causes[0].condition.empty()) << causes[0].condition;
}

TEST(Cause, is_none_for_a_kernel_that_is_right) {
  const Kernel right =
      kernel_that(kLike, [](const Problem& problem, const RunOptions&) { return exact_output(problem); });
  for (const Cause& cause : diagnose(right, kCases, kCausal, Executor::cpu)) EXPECT_FALSE(cause.confident) << cause.id;
}

TEST(Cause, names_nothing_with_confidence_for_noise) {
  const Kernel noisy = kernel_that(kLike, [](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    for (std::int64_t i = 0; i < output.lse.elements(); ++i)
      output.lse.set_bits(i, encode(Format::f32, decode(Format::f32, output.lse.bits(i)) + (i * 7919 % 13 - 6) * 0.01));
    return output;
  });
  for (const Cause& cause : diagnose(noisy, kCases, {}, Executor::cpu))
    EXPECT_FALSE(cause.confident) << cause.id << " " << cause.condition;
}

TEST(Cause, poison_is_told) {
  const Kernel lazy = kernel_that(kLike, [](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    output.o.set_bits(0, poison_bits(output.o.format));
    return output;
  });
  const std::vector<Cause> causes = diagnose(lazy, kCases, {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_TRUE(causes[0].id.starts_with("unwritten")) << causes[0].id;
}

TEST(Cause, a_crash_or_a_hang_is_one_cause) {
  const Kernel aborts = kernel_that(kLike, [](const Problem&, const RunOptions&) -> Output { std::abort(); });
  const std::vector<FailingRuns> questions = {{&aborts, kCases, {}, Executor::cpu}};
  const auto causes = diagnose_apart(questions, 1);
  ASSERT_EQ(causes.size(), 1U);
  ASSERT_EQ(causes[0].size(), 1U);
  EXPECT_EQ(causes[0][0].id, "crash");
  EXPECT_THAT(causes[0][0].sentence, HasSubstr("signal 6"));
}

TEST(Cause, travels_as_a_line_and_prints_short) {
  Cause cause;
  cause.id = "lse.base_2", cause.sentence = "lse is\nwrong", cause.condition = "only where so";
  cause.others = {"a", "b"}, cause.other_sentence = "or that", cause.cases = 3, cause.failing_cases = 4;
  cause.elements = 5, cause.witness = "softmax:normal:1", cause.confident = true;
  const std::string line = cause.serialize();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(Cause::deserialize(line).serialize(), line);
  const std::string text = causes_text(std::span(&cause, 1));
  EXPECT_THAT(text, HasSubstr("cause lse is?wrong\n"));
  EXPECT_THAT(text, HasSubstr("3 of 4 failing cases"));
  EXPECT_LE(std::ranges::count(text, '\n'), 5);
  EXPECT_EQ(causes_text({}), "");
}

TEST(Cause, is_the_same_every_time) {
  const auto text = [] { return causes_text(diagnose(computing("scale.twice"), kCases, kCausal, Executor::cpu)); };
  EXPECT_EQ(text(), text());
}

}  // namespace
}  // namespace flashproof
