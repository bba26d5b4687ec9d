// Every form of merge against arithmetic that errs as much as it declares, and every cost of README.md by leaving it out.
#include <gtest/gtest.h>

#include <string>

#include "reference/bound/merge/test/attack_merge.h"

namespace flashproof::bound {
namespace {

struct Kind {
  const char* name;
  Arithmetic arithmetic;
  MergeForm form;
  double reached;  // the attack must get this near, else it has gone soft
};

constexpr Machine::Mode kModes[] = {Machine::Mode::up,      Machine::Mode::down,  Machine::Mode::random,
                                    Machine::Mode::uniform, Machine::Mode::aimed, Machine::Mode::against};

/// With errors of up to 1/8 in half of the rounds, of a real kernel's size in the others.
AttackWorst attack(Arithmetic machine, Arithmetic declared, MergeForm form, int rounds, std::uint64_t seed,
                   bool scale_errors = true) {
  AttackWorst worst;
  for (int round = 0; round < rounds; ++round) {
    Random random(seed, static_cast<std::uint64_t>(round));
    if (scale_errors) {
      const double error = random.chance(0.5) ? std::exp2(-random.uniform(3, 14)) : 0x1p-24;
      machine.exp_error = declared.exp_error = error;
      machine.log_error = declared.log_error = random.chance(0.5) ? error : 0x1p-24;
    }
    const MergeProblem problem = draw_merge(random, machine, form, 64);
    const Machine::Mode mode = kModes[random.integer(0, 5)];
    attack_merge(problem, Machine(random, mode, machine), declared, worst);
  }
  return worst;
}

constexpr Arithmetic of(Reduction reduction, MergeWeights weights) {
  return {.reduction = reduction, .exp_error = 0x1p-23, .log_error = 0x1p-23, .merge_weights = weights};
}

using bound::with;
constexpr Arithmetic with(Arithmetic a, Exponent exponent) {
  a.exponent = exponent;
  return a;
}
constexpr Arithmetic with(Arithmetic a, Ending ending) {
  a.ending = ending;
  return a;
}
constexpr Arithmetic with(Arithmetic a, Format lse_format) {
  a.lse_format = lse_format;
  return a;
}

constexpr Reduction kFold = Reduction::pairwise_fold;
constexpr Reduction kTree = Reduction::pairwise_tree;
constexpr Reduction kFlat = Reduction::flat;
constexpr MergeForm kSum = MergeForm::sum;
constexpr MergeForm kConcat = MergeForm::concat;

TEST(AttackMerge, no_form_gives_way_to_leaning_errors) {
  const Kind kinds[] = {
      {"stable fold, sum", of(kFold, MergeWeights::stable), kSum, 0.5},
      {"stable fold, concat", of(kFold, MergeWeights::stable), kConcat, 0.5},
      {"stable tree, sum", of(kTree, MergeWeights::stable), kSum, 0.5},
      {"stable tree, concat", of(kTree, MergeWeights::stable), kConcat, 0.5},
      {"stable tree, reciprocal", with(of(kTree, MergeWeights::stable), Ending::multiply_reciprocal), kSum, 0.5},
      {"stable fold, fused", with(of(kFold, MergeWeights::stable), Exponent::fused), kSum, 0.3},
      {"stable fold, f16 lse", with(of(kFold, MergeWeights::stable), Format::f16), kSum, 0.3},
      {"stable tree, bf16 lse", with(of(kTree, MergeWeights::stable), Format::bf16), kSum, 0.3},
      {"stable fold, flushed", with(of(kFold, MergeWeights::stable), Underflow::flush), kConcat, 0.3},
      {"one-sided fold, concat", of(kFold, MergeWeights::one_sided), kConcat, 0.4},
      {"one-sided tree, concat", of(kTree, MergeWeights::one_sided), kConcat, 0.4},
      {"one-sided tree, sum", of(kTree, MergeWeights::one_sided), kSum, 0.3},
      {"running fold, sum", of(kFold, MergeWeights::running), kSum, 0.5},
      {"running fold, concat", of(kFold, MergeWeights::running), kConcat, 0.5},
      {"running tree, sum", of(kTree, MergeWeights::running), kSum, 0.5},
      {"running fold, scaled", with(of(kFold, MergeWeights::running), Exponent::scaled_exp2), kSum, 0.5},
      {"max_sum fold, sum", of(kFold, MergeWeights::max_sum), kSum, 0.5},
      {"max_sum tree, sum", of(kTree, MergeWeights::max_sum), kSum, 0.5},
      {"max_sum tree, concat", of(kTree, MergeWeights::max_sum), kConcat, 0.5},
      {"max_sum tree, fused", with(of(kTree, MergeWeights::max_sum), Exponent::fused), kSum, 0.3},
      {"max_sum fold, division-free", with(of(kFold, MergeWeights::max_sum), Ending::division_free), kSum, 0.5},
      {"flat, sum", of(kFlat, MergeWeights::shifted), kSum, 0.5},
      {"flat, concat", of(kFlat, MergeWeights::shifted), kConcat, 0.5},
      {"flat, fused", with(of(kFlat, MergeWeights::shifted), Exponent::fused), kSum, 0.3},
      {"flat, unfused", with(of(kFlat, MergeWeights::shifted), Exponent::unfused), kSum, 0.3},
      {"flat, reciprocal", with(of(kFlat, MergeWeights::shifted), Ending::multiply_reciprocal), kSum, 0.5},
      {"flat, division-free ending", with(of(kFlat, MergeWeights::shifted), Ending::division_free), kSum, 0.5},
      {"flat, unshifted", of(kFlat, MergeWeights::unshifted), kSum, 0.5},
      {"flat, unshifted, concat", with(of(kFlat, MergeWeights::unshifted), Exponent::scaled_exp2), kConcat, 0.5},
      {"flat, division-free weights", of(kFlat, MergeWeights::division_free), kSum, 0.5},
      {"flat, division-free weights, concat", of(kFlat, MergeWeights::division_free), kConcat, 0.5},
      {"flat, division-free weights, fused", with(of(kFlat, MergeWeights::division_free), Exponent::fused), kSum, 0.3},
      {"flat max_sum, sum", of(kFlat, MergeWeights::max_sum), kSum, 0.5},
      {"flat max_sum, concat", of(kFlat, MergeWeights::max_sum), kConcat, 0.5},
  };
  std::uint64_t seed = 100;
  for (const Kind& kind : kinds) {
    const AttackWorst worst = attack(kind.arithmetic, kind.arithmetic, kind.form, 500, seed++);
    RecordProperty(kind.name, std::to_string(worst.reached.ratio) + " " + std::to_string(worst.lse.ratio));
    EXPECT_LE(worst.o.ratio, 1) << kind.name;
    EXPECT_LE(worst.lse.ratio, 1) << kind.name;
    EXPECT_GE(worst.reached.ratio, kind.reached) << kind.name << ": the attack has gone soft";
    EXPECT_GE(worst.lse.ratio, 0.3) << kind.name << ": the attack has gone soft";
  }
}

/// What the machine does, and what was declared of it: one step too optimistic.
struct Control {
  const char* name;
  Arithmetic machine;
  Arithmetic declared;
  MergeForm form;
};

constexpr Arithmetic with_absolute(Arithmetic a, double log_absolute) {
  a.log_absolute = log_absolute;
  return a;
}
constexpr Arithmetic with_reciprocal(Arithmetic a, double error) {
  a.ending = Ending::multiply_reciprocal;
  a.reciprocal_error = error;
  return a;
}

TEST(AttackMerge, every_cost_is_needed) {
  const Arithmetic stable = of(kFold, MergeWeights::stable);
  const Arithmetic flat = of(kFlat, MergeWeights::shifted);
  const Arithmetic sums = of(kTree, MergeWeights::max_sum);
  const Control controls[] = {
      {"an exponential twice as good, stable", erring(stable, 0x1p-8, 0), erring(stable, 0x1p-9, 0), kSum},
      {"an exponential twice as good, flat", erring(flat, 0x1p-8, 0), erring(flat, 0x1p-9, 0), kSum},
      {"an exponential twice as good, max_sum", erring(sums, 0x1p-8, 0), erring(sums, 0x1p-9, 0), kSum},
      {"a logarithm twice as good", erring(stable, 0, 0x1p-8), erring(stable, 0, 0x1p-9), kSum},
      {"no absolute error of the logarithm", with_absolute(stable, 0x1p-10), stable, kSum},
      {"no |lse| between joins: (m, l) for (o, lse)", stable, of(kFold, MergeWeights::max_sum), kSum},
      {"no |lse| between joins: flat for a tree", of(kTree, MergeWeights::stable), flat, kSum},
      {"f32 lse for bf16", with(stable, Format::bf16), stable, kSum},
      {"f16 lse for bf16", with(stable, Format::bf16), with(stable, Format::f16), kSum},
      {"a total that cancels: stable for running", of(kFold, MergeWeights::running), stable, kSum},
      {"a total that cancels: shifted for division-free", of(kFlat, MergeWeights::division_free), flat, kSum},
      {"running's hops: division-free for running", of(kFold, MergeWeights::running),
       of(kFlat, MergeWeights::division_free), kSum},
      {"one exponential for two: stable for one-sided", erring(of(kFold, MergeWeights::one_sided), 0x1p-8, 0),
       erring(stable, 0x1p-8, 0), kSum},
      {"no frame: scaled for fused, stable", with(stable, Exponent::fused), with(stable, Exponent::scaled_exp2), kSum},
      {"no frame: scaled for fused, lse", with(flat, Exponent::fused), with(flat, Exponent::scaled_exp2), kSum},
      {"no frames of nodes: scaled for fused, max_sum", with(sums, Exponent::fused), with(sums, Exponent::scaled_exp2),
       kSum},
      {"no product: fused for unfused", with(flat, Exponent::unfused), with(flat, Exponent::fused), kSum},
      {"no slope: accurate for scaled", erring(with(flat, Exponent::scaled_exp2), 0x1p-30, 0x1p-30),
       erring(flat, 0x1p-30, 0x1p-30), kSum},
      {"no reciprocal", with_reciprocal(flat, 0x1p-12), flat, kSum},
      {"a reciprocal rounded to nearest", with_reciprocal(flat, 0x1p-12), with_reciprocal(flat, 0), kSum},
      {"no exponential at the end", erring(with(flat, Ending::division_free), 0x1p-8, 0), erring(flat, 0x1p-8, 0),
       kSum},
      {"gradual underflow", with(stable, Underflow::flush), stable, kConcat},
      {"gradual underflow, flat", with(flat, Underflow::flush), flat, kConcat},
      {"a product of a known argument: accurate for scaled, unshifted",
       erring(with(of(kFlat, MergeWeights::unshifted), Exponent::scaled_exp2), 0x1p-30, 0x1p-30),
       erring(of(kFlat, MergeWeights::unshifted), 0x1p-30, 0x1p-30), kSum},
  };
  std::uint64_t seed = 500;
  for (const Control& control : controls) {
    const AttackWorst worst = attack(control.machine, control.declared, control.form, 400, seed++, false);
    EXPECT_GT(worst.largest(), 1) << control.name << ": no case needs it";
  }
}

}  // namespace
}  // namespace flashproof::bound
