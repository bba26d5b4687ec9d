// BlockOrder::any: its bound is no smaller than that of any plan whose boundaries are multiples of the block, in any order.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "reference/bound/bound.h"
#include "reference/model/test/any_order_test_support.h"

namespace flashproof {
namespace {

using namespace any_order;

constexpr double kSame = 1 + 0x1p-20;  // the same sums in another order, in double

struct Compared {
  std::int64_t elements = 0, beyond = 0;
  int refined = 0;
  double widest = 0;  // bound under any over that of a plan, and the sum of its logarithm
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
      sum += std::log(any[i].total() / one[i].total());
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
    if (refused(problem, any)) continue;
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
  std::cout << compared.elements << " elements, any/plan at most " << compared.widest << ", geometric mean "
            << std::exp(compared.sum / static_cast<double>(compared.elements)) << '\n';
  return compared;
}

class AnyOrder : public testing::TestWithParam<Named> {};

TEST_P(AnyOrder, bounds_every_order_of_every_coarser_plan) {
  const Named& named = GetParam();
  const Compared found =
      compare(named.kind, named.inputs, named.arithmetic, FLASHPROOF_FOREIGN_ROUNDS, named.arithmetic.block);
  EXPECT_EQ(found.beyond, 0);
  EXPECT_GT(found.elements, 200);
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
