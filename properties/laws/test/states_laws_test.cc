// Negative controls of the laws about states, splits and keys: right outputs bent in one way that the law must see. The
// bent kernel is a hardened one behind a runner; unbent it passes the same case.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using Bend = std::function<void(const Problem& problem, Output& output)>;

std::string ask_bent(std::string_view law, std::string_view kernel, std::string_view line, const Bend& bend) {
  const Case subject = make_case(parse_case_spec(std::string(line)));
  Trial trial(*find_kernel(kernel), subject, nullptr, {},
              [&](const Kernel& k, const Problem& problem, const RunOptions& options) {
                Output output = run(k, problem, options);
                bend(problem, output);
                return output;
              });
  const Verdict verdict = ask(*find_law(law), trial);
  EXPECT_FALSE(trial.consulted_truth());
  return to_string(verdict);
}

void expect_control(std::string_view law, std::string_view kernel, std::string_view line, const Bend& bend) {
  EXPECT_EQ(ask_bent(law, kernel, line, [](const Problem&, Output&) {}), "pass") << law << " " << kernel;
  EXPECT_EQ(ask_bent(law, kernel, line, bend), "fail(exceeds_bound)") << law << " " << kernel;
}

void add(Tensor& tensor, double what) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.set_bits(i, encode(tensor.format, decode(tensor.format, tensor.bits(i)) + what));
  }
}

std::int64_t states_of(const Problem& problem) {
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) return p->x.shape[1];
  if (const auto* p = std::get_if<MergeProblem>(&problem)) return p->o.shape[0];
  return std::get<AttentionProblem>(problem).k_length();
}

/// An empty state, a part and a copy count like any other state.
void count_states(const Problem& problem, Output& output) {
  add(output.lse, static_cast<double>(states_of(problem)) / 16);
}

/// The state that comes first has a say of its own.
void prefer_first(const Problem& problem, Output& output) { add(output.o, std::get<MergeProblem>(problem).order[0]); }

void count_chunks(const Problem& problem, Output& output) {
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) add(output.lse, p->plan.chunks());
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) add(output.lse, p->plan.chunks());
}

void add_ln2_to_lse(const Problem&, Output& output) { add(output.lse, std::log(2.0)); }

constexpr std::string_view kSoftmax = "softmax.safe.hardened", kAttention = "attention.deferred.hardened",
                           kMerge = "merge.nway.hardened", kTree = "merge.pairwise_tree.hardened";
constexpr std::string_view kColumns = "softmax:normal:1", kKeys = "attention:normal:1", kStates = "merge:normal:1";

TEST(StatesLaws, AnEmptyStateThatCounts) {
  expect_control("empty_state_is_identity", kSoftmax, kColumns, count_states);
  expect_control("empty_state_is_identity", kAttention, kKeys, count_states);
  expect_control("empty_state_is_identity", kMerge, kStates, count_states);
}

TEST(StatesLaws, AnOrderThatMatters) {
  expect_control("merge_commutes", kMerge, kStates, prefer_first);
  expect_control("merge_any_order_within_bound", kMerge, kStates, prefer_first);
}

TEST(StatesLaws, ATreeThatMatters) {
  expect_control("merge_any_tree_within_bound", kMerge, kStates, count_states);
  expect_control("merge_any_tree_within_bound", kTree, kStates, [](const Problem& problem, Output& output) {
    if (!std::get<MergeProblem>(problem).joins.empty()) add(output.o, 1);
  });
}

TEST(StatesLaws, ASplitThatMatters) {
  for (const Bend& bend : {Bend(count_states), Bend(count_chunks)}) {
    expect_control("split_equals_unsplit", kSoftmax, kColumns, bend);
    expect_control("split_equals_unsplit", kAttention, kKeys, bend);
  }
}

TEST(StatesLaws, CopiesThatAreNotCounted) {
  const Bend forget = [](const Problem&, Output& output) {
    output.lse = mapped(output.lse, [](double) { return 1.0; });
  };
  expect_control("same_kv_twice_adds_ln2", kSoftmax, kColumns, forget);
  expect_control("same_kv_twice_adds_ln2", kAttention, kKeys, forget);
  expect_control("same_kv_twice_adds_ln2", kMerge, kStates, forget);
}

TEST(StatesLaws, AnLseBelowTheSink) {
  expect_control("same_kv_twice_adds_ln2", kAttention, "attention:sink:1",
                 [](const Problem&, Output& output) { add(output.lse, -50); });
}

TEST(StatesLaws, WhatTheKernelRefusesIsSkippedAndTheRestAsked) {
  // At most 1024 columns: with an empty chunk more there are too many, but nothing else than empty ones are as many.
  const char* wide = "softmax:normal:1:rows=2,cols=1024";
  const Bend unbent = [](const Problem&, Output&) {};
  const Case subject = make_case(parse_case_spec(wide));
  const Kernel* kernel = find_kernel("softmax.warp_per_row.hardened");
  ASSERT_EQ(Trial(*kernel, subject).refusal(subject.problem), "");
  EXPECT_EQ(ask_bent("empty_state_is_identity", kernel->id, wide, unbent), "pass");
  EXPECT_EQ(
      ask_bent("empty_state_is_identity", kernel->id, wide, [](const Problem&, Output& output) { add(output.o, 1); }),
      "fail(exceeds_bound)");
  EXPECT_EQ(ask_bent("same_kv_twice_adds_ln2", kernel->id, wide, unbent), "unsupported");
}

TEST(StatesLaws, ARefusalBehindTheQuestionIsADefectOfTheLaw) {
  const Case subject = make_case(parse_case_spec(std::string(kColumns)));
  Trial trial(*find_kernel(kSoftmax), subject, nullptr, {},
              [](const Kernel&, const Problem&, const RunOptions&) -> Output { throw UsageError("not asked before"); });
  EXPECT_THROW(ask(*find_law("rerun_is_bitwise"), trial), std::logic_error);
  SoftmaxProblem malformed = std::get<SoftmaxProblem>(subject.problem);
  malformed.plan.boundary.clear();
  EXPECT_THROW((void)trial.refusal(malformed), std::logic_error);
}

TEST(StatesLaws, AFrameThatDoesNotMove) {
  const Bend flush = [](const Problem&, Output& output) {
    for (std::int64_t r = 0; r < output.o.shape[0]; ++r) {
      for (std::int64_t c = 0; c < output.o.shape[1] && output.lse.at({r}) < -1e4; ++c) output.o.set({r, c}, 0);
    }
  };
  expect_control("shift_invariance", kSoftmax, kColumns, flush);
  expect_control("shift_invariance", kAttention, kKeys, flush);
  expect_control("shift_invariance", kMerge, kStates, flush);
}

TEST(StatesLaws, AKeyThatStays) {
  // Only what the first changed problem gave, whatever is taken from it.
  for (const auto& [kernel, line] :
       {std::pair(kSoftmax, kColumns), std::pair(kAttention, kKeys), std::pair(kMerge, kStates)}) {
    int runs = 0;
    Output first;
    expect_control("dropped_key_is_noticed", kernel, line, [&](const Problem&, Output& output) {
      if (++runs == 2) first = output;
      if (runs > 2) output = first;
    });
  }
}

TEST(StatesLaws, AnLseOfOtherWeights) {
  expect_control("lse_consistent_with_o", kSoftmax, kColumns, add_ln2_to_lse);
  expect_control("lse_consistent_with_o", kAttention, kKeys, add_ln2_to_lse);
  expect_control("lse_consistent_with_o", kMerge, kStates, add_ln2_to_lse);
}

TEST(Joint, IsTheMergeOfTwoStates) {
  const Joint joint(expect(exactly(0)), expect(exactly(std::log(3.0))));
  EXPECT_NEAR(joint.lse().value.value, std::log(4.0), 0x1p-48);
  const Measured o = joint.o(expect(exactly(8)), expect(exactly(4))).value;
  EXPECT_NEAR(o.value, 5, 0x1p-45);
  EXPECT_LT(o.radius, 0x1p-44);
  // Weights 1/2 and an lse that may be off by 0.1 each: the share lies within 1/(1 + e^±0.2).
  const Joint loose(expect({0, 0.1}), expect({0, 0.1}));
  const Measured share_of_it = loose.o(expect(exactly(1)), expect(exactly(0))).value;
  EXPECT_GE(share_of_it.radius, 1 / (1 + std::exp(-0.2)) - 0.5);
  EXPECT_LT(share_of_it.radius, 0.06);
}

TEST(Plans, WidenedAndTail) {
  const ChunkPlan plan{{0, 4, 6, 9}, {2, 0, 1}};
  EXPECT_EQ(widened(plan, 1, 5), (ChunkPlan{{0, 4, 9, 11, 14}, {3, 1, 0, 2}}));
  EXPECT_EQ(widened(plan, 3, 1), (ChunkPlan{{0, 4, 6, 9, 10}, {2, 0, 1, 3}}));
  EXPECT_EQ(tail(plan, 4), (ChunkPlan{{0, 2, 5}, {1, 0}}));
  EXPECT_EQ(tail(plan, 5), (ChunkPlan{{0, 1, 4}, {1, 0}}));
}

}  // namespace
}  // namespace flashproof
