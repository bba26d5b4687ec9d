// Kernels whose calls depend on the calls before, and mistakes that look like two: what is told of them, and that it is alone.
#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <set>

#include "reports/diagnose/test/told_as.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

constexpr std::string_view kDeferred = "attention.deferred.hardened";

// What a call leaves behind for the next is no arithmetic that a declaration may name.
TEST(OneCause, a_difference_between_calls_is_no_arithmetic) {
  using Errs = std::function<bool(const SoftmaxProblem&)>;
  const auto calls = std::make_shared<int>(0);
  const auto known = std::make_shared<std::set<std::vector<std::byte>>>();
  const Errs in_every_second = [calls](const SoftmaxProblem&) { return ++*calls % 2 == 0; };
  const Errs in_every_fifth = [calls](const SoftmaxProblem&) { return ++*calls % 5 == 0; };
  const Errs on_new_numbers = [known](const SoftmaxProblem& p) { return known->insert(p.x.storage).second; };
  for (const Errs& errs : {in_every_second, in_every_fifth, on_new_numbers}) {
    Kernel moody = kernel_that("softmax.online_two_pass.hardened", [errs](const Problem& problem, const RunOptions&) {
      return errs(std::get<SoftmaxProblem>(problem)) ? summed_in_f16(problem) : exact_output(problem);
    });
    moody.contract.deterministic = false;  // else a law tells of it
    expect_told_as(moody, softmax_cases(), "calls.right");
  }
}

TEST(OneCause, numbers_that_change_from_call_to_call_are_no_arithmetic) {
  const auto calls = std::make_shared<int>(0);
  const Kernel shaky =
      kernel_that("softmax.online_two_pass.hardened", [calls](const Problem& problem, const RunOptions&) {
        Output output = summed_in_f16(problem);
        if (++*calls % 2 == 0) output.o.set_bits(0, output.o.bits(0) + 1);
        return output;
      });
  expect_told_as(shaky, softmax_cases(), "calls.numbers");
}

// The scale of the first call, in all of them: where that is the root of the right one, it looks like a root.
TEST(OneCause, a_scale_that_is_kept_from_an_earlier_call_is_no_wrong_scale) {
  const auto kept = std::make_shared<float>(0.0F);
  const Kernel keeps = kernel_that(kDeferred, [kept](const Problem& problem, const RunOptions& options) {
    Problem other = problem;
    auto& p = std::get<AttentionProblem>(other);
    if (options.new_process || *kept == 0) *kept = p.scale;
    p.scale = *kept;
    return exact_output(other);
  });
  expect_told_as(keeps,
                 specs({"attention:normal:1:format=f32,d=16,dv=16", "attention:normal:2:format=f32,d=256,dv=16",
                        "attention:ramp:1:format=f32,d=256,dv=16", "attention:ramp:2:format=f32,d=256,dv=16"}),
                 "calls.right_alone");
}

/// Without the state that is stored last, as a loop computes it that ends too early.
Output without_last_stored(const Problem& problem, const Arithmetic& arithmetic) {
  Output output = exact_output(problem);
  for (std::int64_t row = 0; row < output_shape(problem).rows; ++row) {
    const RowTerms terms = row_terms(problem, arithmetic, row);
    RowWeights weights(terms);
    if (terms.terms.size() < 2) continue;
    weights.drop(terms.terms.size() - 1);
    write_row(output, terms, weights);
  }
  return output;
}

// In the order of merging it is the first in some cases and the last in others.
TEST(OneCause, a_state_that_is_stored_last_is_not_the_first_or_the_last_by_turns) {
  const std::string_view like = "merge.pairwise_stable.hardened";
  const Kernel drops = kernel_that(like, [like](const Problem& problem, const RunOptions&) {
    return without_last_stored(problem, find_kernel(like)->arithmetic);
  });
  std::vector<CaseSpec> cases;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    cases.push_back({ProblemKind::merge, "chunk_order", seed, {{"format", "f32"}}});
  expect_told_as(drops, cases, "merge.last_stored_missing");
}

// The first key in some rows of some cases, the last in some rows of others: one of the two is told, the other is what it leaves.
TEST(OneCause, what_is_left_is_no_certain_cause_without_a_condition) {
  const Kernel either = kernel_that(kDeferred, [](const Problem& problem, const RunOptions&) {
    const Output right = exact_output(problem);
    const std::uint64_t first = attention_of(problem)->q.bits(0);
    const Hypothesis* h =
        find_hypothesis(ProblemKind::attention, first % 2 == 0 ? "keys.first_missing" : "keys.last_missing");
    Output output = output_of(*h, problem, find_kernel(kDeferred)->arithmetic);
    const std::int64_t width = output_shape(problem).width;
    for (std::int64_t row = 0; row < output_shape(problem).rows; ++row) {
      if (row * row % 7 < 3) continue;
      output.lse.set_bits(row, right.lse.bits(row));
      for (std::int64_t i = row * width; i < (row + 1) * width; ++i) output.o.set_bits(i, right.o.bits(i));
    }
    return output;
  });
  std::vector<CaseSpec> cases;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    cases.push_back({ProblemKind::attention, "normal", seed, {{"format", "f32"}}});
  const std::vector<Cause> causes = diagnose(either, cases, {}, Executor::cpu);
  ASSERT_GE(causes.size(), 2U);
  EXPECT_THAT(causes[0].condition, HasSubstr("only in some rows"));
  EXPECT_TRUE(causes[0].confident);
  EXPECT_THAT(causes[1].id, HasSubstr("keys."));
  EXPECT_FALSE(causes[1].confident) << causes[1].sentence << causes[1].condition;
}

}  // namespace
}  // namespace flashproof
