// The bounds against the model of the declarations they are computed from: presets and random ones, on hostile problems,
// under roundings that lean. No element may be beyond its bound.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "reference/bound/declare/presets.h"
#include "reference/model/attack/attack_judge.h"
#include "reference/model/attack/attack_problems.h"

#ifndef FLASHPROOF_ATTACK_ROUNDS  // of every preset, and a tenth of the random declarations
#define FLASHPROOF_ATTACK_ROUNDS 30
#endif

namespace flashproof {

namespace presets {
std::ostream& operator<<(std::ostream& out, const Preset& preset) { return out << preset.name; }
}  // namespace presets

namespace {

using attack::Violations;

constexpr int kRunsPerCase = 7;

void report(const std::string& name, const Violations& tally) {
  testing::Test::RecordProperty(name, tally.worst.text());
  std::cout << name << ": " << tally.elements << " elements, " << tally.broken_forms
            << " where the form itself breaks, best err/bound " << tally.worst.text() << '\n';
}

/// States (m, l, O) take max_sum, joins a tree.
bool takes(const Arithmetic& arithmetic, const Problem& problem) {
  const auto* merge = std::get_if<MergeProblem>(&problem);
  if (merge == nullptr) return true;
  return (!merge->has_l() || arithmetic.merge_weights == MergeWeights::max_sum) &&
         (merge->joins.empty() || arithmetic.reduction == Reduction::pairwise_tree);
}

class Presets : public testing::TestWithParam<presets::Preset> {};

TEST_P(Presets, never_exceed_their_bound) {
  const presets::Preset& preset = GetParam();
  Violations tally;
  for (std::uint64_t round = 0; round < FLASHPROOF_ATTACK_ROUNDS; ++round) {
    Random random(round, 31);
    const Problem problem = attack::hostile(random, preset.problem, preset.inputs);
    if (!takes(preset.arithmetic, problem) || attack::refused(problem, preset.arithmetic)) continue;
    const Violations found = attack::attack(problem, preset.arithmetic, preset.arithmetic, round, kRunsPerCase);
    if (found.violations > 0 && tally.violations == 0) ADD_FAILURE() << "round " << round << ": " << found.first;
    tally.take(found);
  }
  report(preset.name, tally);
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  EXPECT_EQ(tally.violations, 0);
  EXPECT_GT(tally.elements, FLASHPROOF_ATTACK_ROUNDS);
}
INSTANTIATE_TEST_SUITE_P(all, Presets, testing::ValuesIn(presets::kPresets),
                         [](const auto& info) { return std::string(info.param.name); });

class RandomDeclarations : public testing::TestWithParam<ProblemKind> {};

TEST_P(RandomDeclarations, never_exceed_their_bound) {
  Violations tally;
  for (std::uint64_t round = 0; round < 10 * FLASHPROOF_ATTACK_ROUNDS; ++round) {
    Random random(round, 32);
    const Format inputs[] = {Format::f32, Format::f32, Format::f16, Format::bf16, Format::e4m3fn};
    const Problem problem = attack::hostile(random, GetParam(), inputs[random.integer(0, 4)]);
    const Arithmetic arithmetic = attack::declaration(random, problem);
    const Violations found = attack::attack(problem, arithmetic, arithmetic, round, kRunsPerCase);
    if (found.violations > 0) ADD_FAILURE() << "round " << round << ": " << found.first;
    tally.take(found);
  }
  report(std::string(name(GetParam())), tally);
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  EXPECT_EQ(tally.violations, 0);
  EXPECT_GT(tally.elements, 10 * FLASHPROOF_ATTACK_ROUNDS);
}
INSTANTIATE_TEST_SUITE_P(all, RandomDeclarations,
                         testing::Values(ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace flashproof
