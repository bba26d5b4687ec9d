// BlockOrder::any: its bound is no smaller than that of any plan whose boundaries are multiples of the block, in any order,
// and what a model computes by such a plan lies within it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "reference/bound/arithmetic_json.h"
#include "reference/bound/bound.h"
#include "reference/bound/presets.h"
#include "reference/model/attack_judge.h"
#include "reference/model/attack_problems.h"

namespace flashproof {
namespace {

constexpr double kSame = 1 + 0x1p-20;  // the same sums in another order, in double

ChunkPlan& plan_of(Problem& problem) {
  auto* attention = std::get_if<AttentionProblem>(&problem);
  return attention != nullptr ? attention->plan : std::get<SoftmaxProblem>(problem).plan;
}

/// Boundaries at some of the multiples of `block`, any order.
ChunkPlan random_plan(Random& random, std::int64_t length, std::int64_t block) {
  ChunkPlan plan{.boundary = {0}, .order = {}};
  const double kept = random.chance(0.3) ? 1 : random.uniform(0, 1);
  for (std::int64_t at = block; at < length; at += block) {
    if (random.chance(kept)) plan.boundary.push_back(static_cast<std::int32_t>(at));
  }
  if (length > 0) plan.boundary.push_back(static_cast<std::int32_t>(length));
  for (std::size_t c = 0; c + 1 < plan.boundary.size(); ++c) plan.order.push_back(static_cast<std::int32_t>(c));
  for (std::size_t c = plan.order.size(); c-- > 1;) {
    std::swap(plan.order[c], plan.order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(c)))]);
  }
  return plan;
}

struct Compared {
  std::int64_t elements = 0, beyond = 0;
  int refined = 0;
  double widest = 0;  // bound under any over that of a plan, and the mean of it
  double sum = 0;

  void take(const std::vector<ElementBound>& any, const std::vector<ElementBound>& one) {
    for (std::size_t i = 0; i < any.size(); ++i) {
      const auto larger = [](double a, double b) { return a > b * kSame; };
      const bool below = larger(one[i].weights, any[i].weights) || larger(one[i].numerator, any[i].numerator) ||
                         larger(one[i].denominator, any[i].denominator) || larger(one[i].output, any[i].output) ||
                         larger(one[i].total(), any[i].total());
      beyond += below ? 1 : 0;
      if (!(one[i].total() > 0) || !std::isfinite(any[i].total())) continue;
      ++elements;
      sum += any[i].total() / one[i].total();
      widest = std::max(widest, any[i].total() / one[i].total());
    }
  }
};

/// A declaration in any order against some plans of every problem. `finer`: what the plans' boundaries are multiples of.
Compared compare(ProblemKind kind, Format inputs, const Arithmetic& any, int rounds, int finer) {
  Compared compared;
  for (int round = 0; round < rounds; ++round) {
    Random random(static_cast<std::uint64_t>(round), 72);
    Problem problem = attack::hostile(random, kind, inputs);
    const std::int64_t length = plan_of(problem).boundary.empty() ? 0 : plan_of(problem).boundary.back();
    const Bound bound = compute_bound(problem, any);
    if (bound.refined > 0) {  // nearly vacuous: boxes take over from the closed form, which is not monotonic there
      ++compared.refined;
      continue;
    }
    for (int k = 0; k < 5; ++k) {
      plan_of(problem) = random_plan(random, length, finer);
      Arithmetic planned = any;
      planned.block = 0;
      planned.visits = BlockOrder::plan;
      const Bound one = compute_bound(problem, planned);
      compared.take(bound.o, one.o);
      compared.take(bound.lse, one.lse);
    }
  }
  std::cout << compared.elements << " elements, any/plan at most " << compared.widest << ", mean "
            << compared.sum / static_cast<double>(compared.elements) << '\n';
  return compared;
}

struct Named {
  const char* name;
  ProblemKind kind;
  Format inputs;
  Arithmetic arithmetic;
};
std::ostream& operator<<(std::ostream& out, const Named& named) { return out << named.name; }

Arithmetic in_any(Arithmetic a, int block) {
  a.block = block;
  a.visits = BlockOrder::any;
  return a;
}

Arithmetic online(Reduction reduction, Exponent exponent, int lanes) {
  Arithmetic a = presets::kPytorchSoftmax;
  a.reduction = reduction;
  a.exponent = exponent;
  a.lanes = lanes;
  a.warps = 1;
  return a;
}

Arithmetic chains(int count) {
  Arithmetic a = presets::triton(Exponent::accurate);
  a.unit = ScoreUnit::natural;
  a.lse_form = LseForm::max_plus_log;
  a.lanes = 2;
  a.dot = {.chains = 1};
  a.values = {.chains = count};
  a.weights = {};
  return a;
}

std::vector<Named> declarations() {
  using enum ProblemKind;
  return {{"fa2", attention, Format::f16, in_any(presets::kFa2Sm80F16, 8)},
          {"fa3", attention, Format::bf16, in_any(presets::kFa3Sm90Bf16, 16)},
          {"fa3_fp8_promoted", attention, Format::e4m3fn, in_any(presets::kFa3Sm90Fp8Promoted, 128)},
          {"fa4", attention, Format::bf16, in_any(presets::kFa4Sm100Bf16, 16)},
          {"unfused", attention, Format::f16, in_any(presets::kTritonUnfused, 32)},
          {"one_chain", attention, Format::f32, in_any(chains(1), 4)},
          {"four_chains", attention, Format::f32, in_any(chains(4), 4)},
          {"online", softmax, Format::f32, in_any(online(Reduction::chunked_online, Exponent::accurate, 1), 1)},
          {"online_fused", softmax, Format::f16, in_any(online(Reduction::chunked_online, Exponent::fused, 4), 8)},
          {"local_unfused", softmax, Format::f32, in_any(online(Reduction::chunked_local, Exponent::unfused, 2), 2)}};
}

class AnyOrder : public testing::TestWithParam<Named> {};

TEST_P(AnyOrder, bounds_every_order_of_every_coarser_plan) {
  const Named& named = GetParam();
  const Compared found = compare(named.kind, named.inputs, named.arithmetic, 40, named.arithmetic.block);
  EXPECT_EQ(found.beyond, 0);
  EXPECT_GT(found.elements, 200);
}

TEST_P(AnyOrder, holds_for_the_model_in_every_order) {
  const Named& named = GetParam();
  attack::Tally tally;
  for (std::uint64_t round = 0; round < 12; ++round) {
    Random random(round, 76);
    Problem problem = attack::hostile(random, named.kind, named.inputs);
    const std::int64_t length = plan_of(problem).boundary.empty() ? 0 : plan_of(problem).boundary.back();
    plan_of(problem) = random_plan(random, length, named.arithmetic.block);
    Arithmetic planned = named.arithmetic;
    planned.block = 0;
    planned.visits = BlockOrder::plan;
    const attack::Tally found = attack::attack(problem, planned, named.arithmetic, round, 5);
    EXPECT_EQ(found.violations, 0) << "round " << round << ": " << found.first;
    tally.take(found);
  }
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  EXPECT_GT(tally.elements, 0);
}
INSTANTIATE_TEST_SUITE_P(all, AnyOrder, testing::ValuesIn(declarations()),
                         [](const auto& info) { return std::string(info.param.name); });

// The order matters: one order's bound is none of another's, and smaller blocks than declared are another kernel.
TEST(AnyOrder, one_order_does_not_bound_another) {
  Arithmetic ascending = in_any(presets::kFa2Sm80F16, 8);
  ascending.visits = BlockOrder::ascending;
  EXPECT_GT(compare(ProblemKind::attention, Format::f16, ascending, 40, 8).beyond, 0);
  Arithmetic online_only = in_any(online(Reduction::chunked_online, Exponent::accurate, 1), 1);
  online_only.visits = BlockOrder::ascending;
  EXPECT_GT(compare(ProblemKind::softmax, Format::f32, online_only, 40, 1).beyond, 0);
}
TEST(AnyOrder, does_not_bound_smaller_blocks_than_declared) {
  EXPECT_GT(compare(ProblemKind::attention, Format::f32, in_any(chains(1), 16), 40, 1).beyond, 0);
}

}  // namespace
}  // namespace flashproof
