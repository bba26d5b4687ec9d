// A preset of any order holds for every tile and however a tile's keys are dealt to threads: hostile problems, computed by the model
// with lanes, runs and plans of its own, within the preset's bound.
#include <gtest/gtest.h>

#include "reference/bound/alternatives.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/model/attack/attack_judge.h"
#include "reference/model/test/any_order_test_support.h"

namespace flashproof {
namespace {

using namespace any_order;

/// One of what the declaration allows, as a kernel might do it.
Arithmetic some_kernel(Random& random, const Arithmetic& declared, const Problem& problem) {
  const std::vector<Arithmetic> list = alternatives(declared, problem);
  Arithmetic a = list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(list.size()) - 1))];
  const int least = declared.lanes;  // fewer lanes than declared have more keys each
  a.lanes = least << random.integer(0, 4);
  a.deal = 1 << random.integer(0, 2);
  a.lane_joins = 0;
  a.block = 0;
  a.visits = BlockOrder::plan;
  a.running_lanes = a.reduction == Reduction::chunk_deferred && declared.lanes == 1 && random.chance(0.5);
  return a;
}

struct Foreign {
  const char* preset;
  Format inputs;
};

class ForeignDealing : public testing::TestWithParam<Foreign> {};

TEST_P(ForeignDealing, holds) {
  const auto [preset, inputs] = GetParam();
  const Arithmetic declared = parse_arithmetic(preset, ProblemKind::attention, inputs);
  attack::Violations tally;
  for (std::uint64_t round = 0; round < FLASHPROOF_FOREIGN_ROUNDS; ++round) {
    Random random(round, 78);
    Problem problem = attack::hostile(random, ProblemKind::attention, inputs);
    if (refused(problem, declared)) continue;
    const std::int64_t length = plan_of(problem).boundary.empty() ? 0 : plan_of(problem).boundary.back();
    plan_of(problem) = random_plan(random, length, std::max(declared.block, 1));
    const Arithmetic kernel = some_kernel(random, declared, problem);
    const attack::Violations found = attack::attack(problem, kernel, declared, round, 3);
    EXPECT_EQ(found.violations, 0) << "round " << round << ": " << found.first;
    tally.take(found);
  }
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  EXPECT_GT(tally.elements, 0);
}
INSTANTIATE_TEST_SUITE_P(all, ForeignDealing,
                         testing::Values(Foreign{"triton", Format::f32}, Foreign{"triton", Format::f16},
                                         Foreign{"pytorch_efficient", Format::f32},
                                         Foreign{"pytorch_math", Format::f32}, Foreign{"jax_xla", Format::f32},
                                         Foreign{"cudnn", Format::bf16}, Foreign{"unknown", Format::f32},
                                         Foreign{"unknown", Format::f16}),
                         [](const auto& info) {
                           return std::string(info.param.preset) + "_" +
                                  std::string(flashproof::info(info.param.inputs).name);
                         });

// A kernel that rounds what its preset takes as exact, P, to 16 bits, is seen.
TEST(ForeignDealing, sees_a_narrower_format_than_declared) {
  const Arithmetic declared = parse_arithmetic("triton", ProblemKind::attention, Format::f32);
  attack::Violations tally;
  for (std::uint64_t round = 0; round < 20; ++round) {
    Random random(round, 79);
    Problem problem = attack::hostile(random, ProblemKind::attention, Format::f32);
    if (refused(problem, declared)) continue;
    const std::int64_t length = plan_of(problem).boundary.empty() ? 0 : plan_of(problem).boundary.back();
    plan_of(problem) = random_plan(random, length, declared.block);
    Arithmetic kernel = some_kernel(random, declared, problem);
    kernel.weights.format = Format::bf16;
    tally.take(attack::attack(problem, kernel, declared, round, 1));
  }
  EXPECT_GT(tally.violations, 0);
}

}  // namespace
}  // namespace flashproof
