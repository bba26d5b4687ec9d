// Blocks of the kernel's own mean the plan that has these blocks: to the bound, to its preconditions and to the model, for
// whole rows and for split ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/bound/bound.h"
#include "reference/bound/declare/presets.h"
#include "reference/model/attack/attack_problems.h"
#include "reference/model/model.h"

namespace flashproof {
namespace {

Problem with_plan(Problem problem, const ChunkPlan& plan) {
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) attention->plan = plan;
  if (auto* softmax = std::get_if<SoftmaxProblem>(&problem)) softmax->plan = plan;
  return problem;
}

std::int64_t keys_of(const Problem& problem) {
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  return attention != nullptr ? attention->k_length() : std::get<SoftmaxProblem>(problem).x.shape[1];
}

void expect_equal(const std::vector<ElementBound>& a, const std::vector<ElementBound>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].total(), b[i].total()) << i;
    ASSERT_EQ(a[i].probable, b[i].probable) << i;
  }
}

void expect_plan(ProblemKind kind, const Arithmetic& base) {
  int differs = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    Random random(round, 71);
    const Problem problem = attack::mild(random, kind, Format::f16);
    for (const BlockOrder order : {BlockOrder::ascending, BlockOrder::descending}) {
      Arithmetic own = base;
      own.block = 16;
      own.visits = order;
      ChunkPlan plan = ChunkPlan::uniform(keys_of(problem), own.block);
      if (order == BlockOrder::descending) std::ranges::reverse(plan.order);
      const Problem planned = with_plan(problem, plan);
      const Bound one = compute_bound(problem, own), other = compute_bound(planned, base);
      expect_equal(one.o, other.o);
      expect_equal(one.lse, other.lse);
      if (!one.lse.empty()) {
        EXPECT_EQ(preconditions(problem, own, 0).size(), preconditions(planned, base, 0).size());
      }
      const Output a = run_model(problem, own), b = run_model(planned, base);
      EXPECT_EQ(a.o, b.o);
      EXPECT_EQ(a.lse, b.lse);
      differs += run_model(problem, base).lse == a.lse ? 0 : 1;
    }
  }
  EXPECT_GT(differs, 0);  // else blocks change nothing, and nothing has been seen
}

TEST(Visits, of_an_attention_are_the_plan_of_its_blocks) { expect_plan(ProblemKind::attention, presets::kFa2Sm80F16); }
TEST(Visits, of_a_split_attention_too) { expect_plan(ProblemKind::attention, presets::kFa3Split4); }
TEST(Visits, of_a_softmax_too) {
  Arithmetic a = presets::kPytorchSoftmax;
  a.reduction = Reduction::chunked_online;
  a.lanes = 4;
  a.warps = 1;
  expect_plan(ProblemKind::softmax, a);
}

}  // namespace
}  // namespace flashproof
