// `probable` of softmax and merges against roundings that are what it assumes: independent and centred. And against those
// that are not, which must leave it. Scores are further apart than an exponential errs: e^x <= 1 would cut its error.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "reference/bound/merge/test/attack_merge.h"
#include "reference/bound/softmax/test/attack_softmax.h"

namespace flashproof::bound {
namespace {

constexpr int kCount = 96;  // chance gains nothing below λ² roundings of a size

/// Scores of which no two are nearer than a tenth of the spread's share of one.
std::vector<float> scores(Random& random) {
  const double spread = std::exp2(random.uniform(-3, 2));
  const double offset = random.chance(0.5) ? 0 : random.uniform(-50, 50);
  std::vector<float> x;
  x.reserve(kCount);
  for (int j = 0; j < kCount; ++j) {
    x.push_back(static_cast<float>(offset + spread * (j + 0.9 * random.uniform()) / kCount));
  }
  for (std::size_t j = x.size(); j-- > 1;) std::swap(x[j], x[random.integer(0, static_cast<std::int64_t>(j))]);
  return x;
}

SoftmaxProblem softmax_problem(Random& random) {
  const std::vector<float> x = scores(random);
  const auto n = static_cast<std::int64_t>(x.size());
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, n});
  for (std::int64_t j = 0; j < n; ++j) p.x.set({0, j}, x[j]);
  p.plan = ChunkPlan::uniform(n, 1 + random.integer(0, 31));
  return p;
}

MergeProblem merge_problem(Random& random, MergeForm form) {
  const std::vector<float> x = scores(random);
  const auto n = static_cast<std::int64_t>(x.size());
  const bool signs = random.chance(0.5);
  MergeProblem p;
  p.form = form;
  p.o = Tensor::dense(Format::f32, {n, 1, 1});
  p.lse = Tensor::dense(Format::f32, {n, 1});
  for (std::int64_t c = 0; c < n; ++c) {
    p.o.set({c, 0, 0}, static_cast<float>(signs ? random.uniform(-1, 1) : random.uniform(1, 2)));
    p.lse.set({c, 0}, x[c]);
    p.order.push_back(static_cast<std::int32_t>(c));
  }
  return p;
}

Arithmetic erring(Arithmetic a, Random& random) {
  a.exp_error = std::exp2(-random.uniform(12, 24));
  a.log_error = std::exp2(-random.uniform(12, 24));
  a.lanes = a.warps = 0;
  return a;
}

/// Roundings of the mode given; the uniform ones and those of the largest variance in turn where it is random.
Machine::Mode turn(Machine::Mode mode, int round) {
  return mode == Machine::Mode::random && round % 2 == 0 ? Machine::Mode::uniform : mode;
}

AttackWorst softmax(const Arithmetic& form, int rounds, std::uint64_t seed, Machine::Mode mode) {
  AttackWorst worst;
  for (int round = 0; round < rounds; ++round) {
    Random random(seed, static_cast<std::uint64_t>(round));
    Arithmetic a = erring(form, random);
    a.lanes = 1 << random.integer(0, 3);
    a.warps = 1;
    attack_softmax(softmax_problem(random), Machine(random, turn(mode, round), a), a, worst);
  }
  return worst;
}

AttackWorst merge(const Arithmetic& form, int rounds, std::uint64_t seed, Machine::Mode mode) {
  AttackWorst worst;
  for (int round = 0; round < rounds; ++round) {
    Random random(seed, static_cast<std::uint64_t>(round));
    const Arithmetic a = erring(form, random);
    const MergeProblem problem = merge_problem(random, random.chance(0.1) ? MergeForm::concat : MergeForm::sum);
    attack_merge(problem, Machine(random, turn(mode, round), a), a, worst);
  }
  return worst;
}

constexpr Arithmetic of(Reduction reduction, MergeWeights weights = MergeWeights::stable,
                        Exponent exponent = Exponent::accurate, Ending ending = Ending::divide) {
  return {.reduction = reduction, .exponent = exponent, .merge_weights = weights, .ending = ending};
}

using R = Reduction;
using W = MergeWeights;

constexpr Arithmetic kSoftmax[] = {
    of(R::strided_online),
    of(R::chunked_online),
    of(R::chunked_online, W::stable, Exponent::fused),
    of(R::chunked_online, W::stable, Exponent::unfused, Ending::multiply_reciprocal),
    of(R::chunked_local),
    of(R::chunked_local, W::stable, Exponent::fused),
    of(R::two_pass),
    of(R::two_pass, W::stable, Exponent::scaled_exp2, Ending::division_free),
    of(R::chunk_states, W::max_sum),
    of(R::chunk_states, W::shifted, Exponent::fused),
    of(R::chunk_states, W::unshifted),
    of(R::unshifted),
    of(R::unshifted, W::stable, Exponent::scaled_exp2, Ending::division_free),
};
constexpr Arithmetic kMerges[] = {
    of(R::pairwise_fold, W::stable),
    of(R::pairwise_tree, W::stable, Exponent::fused),
    of(R::pairwise_tree, W::stable, Exponent::scaled_exp2, Ending::multiply_reciprocal),
    of(R::pairwise_fold, W::one_sided),
    of(R::pairwise_tree, W::one_sided),
    of(R::pairwise_fold, W::running),
    of(R::pairwise_tree, W::running, Exponent::scaled_exp2),
    of(R::pairwise_fold, W::max_sum),
    of(R::pairwise_tree, W::max_sum, Exponent::fused),
    of(R::flat, W::shifted),
    of(R::flat, W::shifted, Exponent::unfused),
    of(R::flat, W::shifted, Exponent::accurate, Ending::division_free),
    of(R::flat, W::unshifted),
    of(R::flat, W::division_free),
    of(R::flat, W::max_sum),
};

using Attack = AttackWorst(const Arithmetic& form, int rounds, std::uint64_t seed, Machine::Mode mode);

void expect_none_beyond(std::span<const Arithmetic> forms, Attack* attack, int rounds, std::uint64_t seed) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const AttackWorst worst = attack(forms[i], rounds, seed + i, Machine::Mode::random);
    SCOPED_TRACE("form " + std::to_string(i));
    testing::Test::RecordProperty("form" + std::to_string(i), std::to_string(worst.likely.ratio));
    EXPECT_LE(worst.likely.ratio, 1);
    EXPECT_GT(worst.likely.ratio, 0.3) << "much wider than what it is about";
    elements += worst.elements;
  }
  EXPECT_GE(elements, 100000);
}

TEST(AttackProbable, none_of_100000_elements_of_softmax_is_beyond_it) {
  expect_none_beyond(kSoftmax, softmax, 760, 300);
}

TEST(AttackProbable, none_of_100000_elements_of_merges_is_beyond_it) { expect_none_beyond(kMerges, merge, 660, 400); }

int forms_left(std::span<const Arithmetic> forms, Attack* attack, std::uint64_t seed) {
  int left = 0;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const AttackWorst worst = attack(forms[i], 60, seed + i, Machine::Mode::aimed);
    EXPECT_LE(worst.largest(), 1);
    left += worst.likely.ratio > 1;
  }
  return left;
}

// A bound that no roundings leave would say nothing: those in step leave it, and stay within the other.
TEST(AttackProbable, roundings_in_step_leave_it_and_stay_within_the_bound) {
  EXPECT_GE(forms_left(kSoftmax, softmax, 500), 1);
  EXPECT_GE(forms_left(kMerges, merge, 600), 1);
}

}  // namespace
}  // namespace flashproof::bound
