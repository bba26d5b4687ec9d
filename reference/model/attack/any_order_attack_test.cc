// BlockOrder::any: what a model computes by a plan whose boundaries are multiples of the block, in any order, lies within its
// bound.
#include <gtest/gtest.h>

#include "reference/model/attack/attack_judge.h"
#include "reference/model/test/any_order_test_support.h"

namespace flashproof {
namespace {

using namespace any_order;

class AnyOrderAttack : public testing::TestWithParam<Named> {};

TEST_P(AnyOrderAttack, holds_for_the_model_in_every_order) {
  const Named& named = GetParam();
  attack::Violations tally;
  for (std::uint64_t round = 0; round < FLASHPROOF_FOREIGN_ROUNDS / 4; ++round) {
    Random random(round, 76);
    Problem problem = attack::hostile(random, named.kind, named.inputs);
    if (refused(problem, named.arithmetic)) continue;
    const std::int64_t length = plan_of(problem).boundary.empty() ? 0 : plan_of(problem).boundary.back();
    plan_of(problem) = random_plan(random, length, named.arithmetic.block);
    Arithmetic planned = named.arithmetic;
    planned.block = 0;
    planned.visits = BlockOrder::plan;
    const attack::Violations found = attack::attack(problem, planned, named.arithmetic, round, 5);
    EXPECT_EQ(found.violations, 0) << "round " << round << ": " << found.first;
    tally.take(found);
  }
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  EXPECT_GT(tally.elements, 0);
}
INSTANTIATE_TEST_SUITE_P(all, AnyOrderAttack, testing::ValuesIn(declarations()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace flashproof
