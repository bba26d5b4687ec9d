// What README.md says of merges in words: what an lse costs in each form, what trees look like, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "reference/bound/bound.h"
#include "reference/bound/merge/merge_paths.h"
#include "reference/bound/merge/merge_tree.h"
#include "reference/bound/merge/test/attack_merge.h"
#include "reference/bound/test/one_row.h"
#include "reference/system/error.h"

namespace flashproof::bound {
namespace {

MergeProblem alternating(int n, float lse) {
  std::vector<float> o(n);
  for (int c = 0; c < n; ++c) o[c] = c % 2 == 0 ? 1.0F : -1.0F;
  return merge_row(std::vector<float>(n, lse), o);
}

constexpr Arithmetic of(Reduction reduction, MergeWeights weights) {
  return {.reduction = reduction, .exp_error = 0x1p-23, .log_error = 0x1p-23, .merge_weights = weights};
}

double total(const MergeProblem& problem, const Arithmetic& arithmetic) {
  return compute_bound(problem, arithmetic).o[0].total();
}

TEST(MergeBound, a_fold_pays_the_lse_per_join_a_tree_per_level_and_the_others_not_at_all) {
  const double hop = 1e5 * 0x1p-24;  // u|λ| = 6e-3
  const MergeProblem few = alternating(16, 1e5F);
  const MergeProblem many = alternating(64, 1e5F);
  const Arithmetic fold = of(Reduction::pairwise_fold, MergeWeights::stable);
  const Arithmetic tree = of(Reduction::pairwise_tree, MergeWeights::stable);
  EXPECT_GT(compute_bound(many, fold).lse[0].total(), 20 * hop);
  EXPECT_GT(total(many, fold), 2 * total(few, fold)) << "with the number of states";
  EXPECT_LT(total(many, tree), 7 * hop);
  EXPECT_GT(total(many, tree), 1.2 * total(few, tree)) << "with its logarithm";
  EXPECT_LT(total(many, tree), 2 * total(few, tree));
  EXPECT_LT(total(many, of(Reduction::flat, MergeWeights::shifted)), 1e-5);
  EXPECT_LT(total(many, of(Reduction::pairwise_fold, MergeWeights::max_sum)), 2e-5);
  EXPECT_LT(total(many, of(Reduction::pairwise_tree, MergeWeights::max_sum)), 1e-5);
}

TEST(MergeBound, what_a_join_loses_grows_by_all_the_roundings_after_it) {
  constexpr int kStates = 20'000;
  for (const MergeWeights weights : {MergeWeights::stable, MergeWeights::one_sided, MergeWeights::running}) {
    const Arithmetic fold = of(Reduction::pairwise_fold, weights);
    std::vector<MergeState> states(kStates, {.max = {0}});
    states[0].max = {-95};  // its weight may be lost at the first join; one_sided, where the weight is e^{b - a}, at 95
    if (weights == MergeWeights::one_sided) states[0].max = {95};
    const MergePaths paths = lse_tree_paths(states, fold, joins_of(fold.reduction, kStates), MergeForm::sum);
    const double unit = weights == MergeWeights::one_sided ? 1 : kStates - 1;  // of a weight, in those of the leaves
    const double products = kStates - 2;  // after the first join, one product and one sum
    const double grown = std::exp(2 * products * kU);
    EXPECT_GE(paths.row.numerator_underflow, 4.0 * kStates * 0x1p-150 * unit * grown) << static_cast<int>(weights);
    if (weights != MergeWeights::one_sided) {
      EXPECT_GE(paths.row.leaves.lost[0], 0x1p-148 * unit * grown) << static_cast<int>(weights);
    }
  }
}

TEST(MergeBound, division_free_weights_pay_the_lse_once_where_o_does_not_cancel) {
  const double hop = 1e5 * 0x1p-24;
  const Arithmetic free = of(Reduction::flat, MergeWeights::division_free);
  const MergeProblem ones = merge_row(std::vector<float>(64, 1e5F), std::vector<float>(64, 1.0F));
  EXPECT_GT(total(ones, free), 0.9 * hop);
  EXPECT_LT(total(ones, free), 1.1 * hop);
  EXPECT_LT(total(alternating(64, 1e5F), free), 1e-1 * hop * 64) << "and the exponentials of each state besides";
  const MergeProblem eight = merge_row(std::vector<float>(8, 1e5F), std::vector<float>(8, 1.0F));
  EXPECT_GT(total(ones, of(Reduction::pairwise_fold, MergeWeights::running)), 20 * hop) << "and running at every hop";
  EXPECT_LT(total(eight, of(Reduction::pairwise_fold, MergeWeights::running)), 10 * hop);
}

TEST(MergeBound, a_join_that_does_not_move_the_lse_does_not_round_it) {
  // λ + ln(1 + e^{−60}) is λ: the rounding is what was added.
  const Arithmetic fold = of(Reduction::pairwise_fold, MergeWeights::stable);
  const MergeProblem p = merge_row({1e5F, 1e5F - 60, 1e5F - 60, 1e5F}, {1, -1, 1, -1});
  EXPECT_LT(total(p, fold), 1e-5);
}

TEST(MergeBound, where_an_unshifted_exponential_overflows_its_form_fails_and_is_not_excused) {
  const auto holds = [](const MergeProblem& p, const Arithmetic& a) {
    const RowDomain domain = compute_bound(p, a).domain[0];
    EXPECT_TRUE(domain.holds());
    return domain.form.holds();
  };
  const Arithmetic running = of(Reduction::pairwise_fold, MergeWeights::running);
  EXPECT_TRUE(holds(merge_row({0, 88}, {1, 1}), running));
  EXPECT_FALSE(holds(merge_row({0, 89}, {1, 1}), running));
  EXPECT_TRUE(holds(merge_row({89, 0}, {1, 1}), running)) << "e^{−89}";
  const Arithmetic unshifted = of(Reduction::flat, MergeWeights::unshifted);
  EXPECT_TRUE(holds(merge_row({88}, {1}), unshifted));
  EXPECT_FALSE(holds(merge_row({88, 88, 88, 88}, {1, 1, 1, 1}), unshifted)) << "the sum, before any term";
  EXPECT_FALSE(holds(merge_row({-90, -91}, {1, 1}), unshifted)) << "0/0";
  const auto all = preconditions(Problem(merge_row({88, 88, 88, 88}, {1, 1, 1, 1})), unshifted, 0);
  EXPECT_EQ(2, std::ranges::count_if(all, [](const Precondition& p) { return !p.holds() && !p.excuses; }))
      << "of the weights and of e^lse |o|";
  EXPECT_EQ(0, std::ranges::count_if(all, [](const Precondition& p) { return !p.holds() && p.excuses; }));
}

TEST(MergeBound, sums_beyond_the_range_are_out_of_domain) {
  MergeProblem p = merge_row({0, 0}, {1e38F, 1e38F});
  p.l = Tensor::dense(Format::f32, {2, 1});
  p.l.set({0, 0}, 3e38);
  p.l.set({1, 0}, 3e38);
  EXPECT_FALSE(compute_bound(p, of(Reduction::flat, MergeWeights::max_sum)).domain[0].holds());
  const MergeProblem huge = merge_row({0, 0}, {3e38F, 3e38F});
  EXPECT_FALSE(compute_bound(huge, of(Reduction::flat, MergeWeights::shifted)).domain_of(0).holds()) << "un-normalised";
  EXPECT_TRUE(compute_bound(huge, of(Reduction::pairwise_fold, MergeWeights::stable)).domain_of(0).holds());
}

MergeProblem sums_of(const std::vector<float>& m, const std::vector<float>& l, const std::vector<float>& o) {
  MergeProblem p = merge_row(m, o);
  p.l = Tensor::dense(Format::f32, {static_cast<std::int64_t>(l.size()), 1});
  for (std::size_t c = 0; c < l.size(); ++c) p.l.set({static_cast<std::int64_t>(c), 0}, l[c]);
  return p;
}

TEST(MergeBound, what_overflows_in_the_frame_of_an_early_join_is_out_of_domain) {
  const Arithmetic fold = of(Reduction::pairwise_fold, MergeWeights::max_sum);
  const Arithmetic tree = of(Reduction::pairwise_tree, MergeWeights::max_sum);
  const auto values = sums_of({0, 0, 50}, {1, 1, 1}, {3e38F, 3e38F, 0});   // inf instead of 1e17
  const auto weights = sums_of({0, 0, 50}, {3e38F, 3e38F, 1}, {1, 1, 0});  // 0 instead of 9e-18
  for (const Arithmetic& a : {fold, tree}) {
    EXPECT_TRUE(compute_bound(values, a).domain[0].holds()) << "lse has no O in it";
    EXPECT_FALSE(compute_bound(values, a).domain_of(0).holds());
    EXPECT_FALSE(compute_bound(weights, a).domain[0].holds());
    for (const MergeProblem& p : {values, weights}) {
      const auto all = preconditions(Problem(p), a, 0);
      EXPECT_TRUE(std::ranges::any_of(all, [](const Precondition& q) { return !q.holds() && q.excuses; }));
    }
    // In another order nothing is large where it is summed.
    EXPECT_TRUE(compute_bound(sums_of({50, 0, 0}, {1, 1, 1}, {0, 3e38F, 3e38F}), a).domain_of(0).holds());
    EXPECT_TRUE(compute_bound(sums_of({50, 0, 0}, {1, 3e38F, 3e38F}, {0, 1, 1}), a).domain_of(0).holds());
  }
  // Joined from the right, the same states overflow.
  MergeProblem joined = sums_of({50, 0, 0}, {1, 1, 1}, {0, 3e38F, 3e38F});
  joined.joins = {{.left = 1, .right = 2}, {.left = 3, .right = 0}};
  EXPECT_FALSE(compute_bound(joined, tree).domain_of(0).holds());
  const Arithmetic flat = of(Reduction::flat, MergeWeights::max_sum);
  EXPECT_TRUE(compute_bound(values, flat).domain_of(0).holds()) << "one frame, the largest";
  EXPECT_TRUE(compute_bound(weights, flat).domain_of(0).holds());
}

TEST(MergeBound, a_state_far_below_hides_no_overflow) {
  // Its weight may be wrong by u·1e38 log units and is 0: inf · 0 must not be the largest sum.
  const Arithmetic sums = of(Reduction::pairwise_fold, MergeWeights::max_sum);
  const std::vector<float> m = {3e38F, 1e38F, 3e38F};
  EXPECT_EQ(compute_bound(merge_row(m, {3e38F, 1.0F, 3e38F}), sums).accumulator_outside[0], 1);
  EXPECT_EQ(compute_bound(merge_row(m, {1.0F, 1.0F, 1.0F}), sums).accumulator_outside[0], 0);
  const Bound bound = compute_bound(merge_row(m, {1.0F, 1.0F, 1.0F}), sums);
  EXPECT_TRUE(bound.domain[0].holds());
}

TEST(MergeBound, running_weights_may_exceed_one_by_the_states_own_exponents) {
  Arithmetic a = of(Reduction::pairwise_fold, MergeWeights::running);
  const MergeProblem p = merge_row({0, 0}, {3.35e38F, 3.35e38F});
  EXPECT_TRUE(compute_bound(p, a).domain_of(0).holds());
  // 1/128 of the half of lse^ that is an exponential, and 1/64 of the weights: 3.35e38 e^{3/128} is above 3.4e38.
  a.exp_error = 0x1p-6;
  a.log_error = 0;
  EXPECT_FALSE(compute_bound(p, a).domain_of(0).holds());
}

TEST(MergeBound, the_error_of_the_constant_is_no_states_own) {
  for (const Exponent exponent : {Exponent::scaled_exp2, Exponent::fused, Exponent::unfused}) {
    for (const MergeWeights weights : {MergeWeights::shifted, MergeWeights::unshifted, MergeWeights::division_free}) {
      Arithmetic a = of(Reduction::flat, weights);
      a.exponent = exponent;
      const std::vector<MergeState> two = {{.max = {40}}, {.max = {10}}};
      const MergePaths paths = merge_paths(two, a, {}, MergeForm::sum, Format::f32);
      const double gap = weights == MergeWeights::unshifted ? 10 : 30;
      const Leaves& leaves = paths.row.leaves;
      EXPECT_LE(leaves.own[1], leaves.exponent[1] - 1.33e-8 * gap);
      EXPECT_GT(leaves.own[1], leaves.exponent[1] / 2) << "most of it is";
      EXPECT_GT(paths.constant, 0.05);
      EXPECT_GE(paths.lse.probable, 0);
    }
  }
  for (const MergeWeights weights : {MergeWeights::stable, MergeWeights::running, MergeWeights::max_sum}) {
    Arithmetic a = of(Reduction::pairwise_fold, weights);
    const std::vector<MergeState> two = {{.max = {40}}, {.max = {10}}};
    const std::vector<Join> joins = joins_of(a.reduction, 2);
    EXPECT_EQ(merge_paths(two, a, joins, MergeForm::sum, Format::f32).constant, 0) << "no constant in it";
    a.exponent = Exponent::scaled_exp2;
    EXPECT_GT(merge_paths(two, a, joins, MergeForm::sum, Format::f32).constant, 0.05);
  }
}

TEST(MergeBound, chance_does_not_lessen_the_error_of_the_constant) {
  Arithmetic a = of(Reduction::pairwise_fold, MergeWeights::stable);
  a.exponent = Exponent::scaled_exp2;
  const std::vector<MergeState> many(512, {.max = {1e3}});
  const MergePaths paths = merge_paths(many, a, joins_of(a.reduction, 512), MergeForm::sum, Format::f32);
  const double weights = paths.lse.weights;
  EXPECT_LT(paths.lse.probable, paths.lse.total());
  EXPECT_GT(paths.constant, 0.05);
  EXPECT_GE(paths.lse.probable, 7 * std::sqrt(paths.largest * weights) + paths.constant * weights);
}

TEST(MergeBound, empty_states_are_not_there) {
  const Arithmetic sums = of(Reduction::pairwise_tree, MergeWeights::max_sum);
  MergeProblem p = merge_row({1000, 3, -INFINITY}, {NAN, 6, NAN});
  p.l = Tensor::dense(Format::f32, {3, 1});
  p.l.set({0, 0}, 0);
  p.l.set({1, 0}, 2);
  const Bound bound = compute_bound(p, sums);
  EXPECT_LT(bound.o[0].total(), 1e-9) << "6/2: its rounding is the verdict's";
  EXPECT_GT(bound.lse[0].total(), 0) << "m + ln 2";
  for (const Reduction reduction : {Reduction::pairwise_fold, Reduction::pairwise_tree}) {
    const Bound copy =
        compute_bound(merge_row({-INFINITY, 3, -INFINITY}, {NAN, 2, NAN}), of(reduction, MergeWeights::running));
    EXPECT_EQ(copy.o[0].total(), 0);
    EXPECT_EQ(copy.lse[0].total(), 0);
  }
}

TEST(MergeBound, is_a_number_whatever_the_states) {
  const Arithmetic all[] = {
      of(Reduction::pairwise_fold, MergeWeights::stable),  of(Reduction::pairwise_tree, MergeWeights::one_sided),
      of(Reduction::pairwise_fold, MergeWeights::running), of(Reduction::pairwise_tree, MergeWeights::max_sum),
      of(Reduction::flat, MergeWeights::shifted),          of(Reduction::flat, MergeWeights::unshifted),
      of(Reduction::flat, MergeWeights::division_free),    of(Reduction::flat, MergeWeights::max_sum)};
  for (Arithmetic a : all) {
    for (const Exponent exponent : {Exponent::accurate, Exponent::scaled_exp2, Exponent::fused, Exponent::unfused}) {
      a.exponent = exponent;
      for (const float lse : {1e-45F, 1.0F, 200.0F, 1e5F, 1e12F, 1e30F, 3e38F}) {
        for (const float other : {lse, -lse, 0.0F, lse / 2}) {
          for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
            const Bound bound = compute_bound(merge_row({lse, other, lse}, {1, 0, 1e30F}, form), a);  // throws if not
            for (const ElementBound& element : bound.o) EXPECT_LE(element.probable, element.total());
          }
        }
      }
    }
  }
}

TEST(MergeBound, chance_lessens_what_many_states_share) {
  const MergeProblem many = alternating(512, 1e5F);
  const Bound fold = compute_bound(many, of(Reduction::pairwise_fold, MergeWeights::stable));
  EXPECT_LT(fold.lse[0].probable, 0.7 * fold.lse[0].total());
  const Bound flat = compute_bound(many, of(Reduction::flat, MergeWeights::shifted));
  EXPECT_LT(flat.o[0].probable, 0.7 * flat.o[0].total());
}

TEST(MergeBound, what_is_not_covered_is_refused_by_name) {
  const MergeProblem p = merge_row({0, 1}, {1, 2});
  const auto refused = [&p](Arithmetic a, const char* name) {
    try {
      compute_bound(p, a);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what()).find(name) != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refused(of(Reduction::two_pass, MergeWeights::stable), "reduction"));
  EXPECT_TRUE(refused(of(Reduction::flat, MergeWeights::stable), "merge_weights"));
  EXPECT_TRUE(refused(of(Reduction::pairwise_fold, MergeWeights::shifted), "merge_weights"));
  Arithmetic a = of(Reduction::flat, MergeWeights::shifted);
  a.lse_format = Format::bf16;
  EXPECT_TRUE(refused(a, "lse_format"));
  a = of(Reduction::flat, MergeWeights::shifted);
  a.lanes = 4;
  EXPECT_TRUE(refused(a, "lanes"));
  a = of(Reduction::pairwise_fold, MergeWeights::running);
  a.ending = Ending::multiply_reciprocal;
  EXPECT_TRUE(refused(a, "ending"));
  MergeProblem with_l = p;
  with_l.l = Tensor::dense(Format::f32, {2, 1});
  EXPECT_THROW(compute_bound(with_l, of(Reduction::flat, MergeWeights::shifted)), UsageError);
  MergeProblem with_joins = p;
  with_joins.joins = {{.left = 0, .right = 1}};
  EXPECT_THROW(compute_bound(with_joins, of(Reduction::pairwise_fold, MergeWeights::stable)), UsageError);
  EXPECT_THROW(preconditions(Problem(p), of(Reduction::flat, MergeWeights::shifted), 1), UsageError);
}

TEST(MergeTree, neighbours_join_first_and_an_odd_one_waits) {
  const std::vector<Join> balanced = {
      {.left = 0, .right = 1}, {.left = 2, .right = 3}, {.left = 5, .right = 6}, {.left = 7, .right = 4}};
  EXPECT_EQ(joins_of(Reduction::pairwise_tree, 5), balanced);
  const std::vector<Join> fold = {{.left = 0, .right = 1}, {.left = 3, .right = 2}};
  EXPECT_EQ(joins_of(Reduction::pairwise_fold, 3), fold);
  EXPECT_TRUE(joins_of(Reduction::pairwise_tree, 1).empty());
}

TEST(MergeTree, an_empty_side_makes_a_copy) {
  const std::vector<Join> joins = joins_of(Reduction::pairwise_tree, 4);
  const std::vector<Join> kept = {{.left = 0, .right = 1}};
  EXPECT_EQ(pruned(joins, {false, true, true, false}), kept);
  EXPECT_TRUE(pruned(joins, {false, false, false, true}).empty());
}

}  // namespace
}  // namespace flashproof::bound
