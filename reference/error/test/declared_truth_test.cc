// Truth, bound and problem in a kernel's terms, against what they are by hand.
#include "reference/error/semantics/declared_truth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/oracle/oracle.h"
#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

Tensor zeros(std::vector<std::int64_t> shape) {
  Tensor tensor = Tensor::dense(Format::f32, std::move(shape));
  std::ranges::fill(tensor.storage, std::byte{0});
  return tensor;
}

AttentionProblem attention(std::int64_t queries, std::int64_t keys) {
  AttentionProblem p;
  p.q = zeros({1, 1, queries, 2});
  p.k = zeros({1, 1, keys, 2});
  p.v = zeros({1, 1, keys, 1});
  for (std::int64_t i = 0; i < queries; ++i) p.q.set({0, 0, i, 0}, 1);
  for (std::int64_t j = 0; j < keys; ++j) {
    p.k.set({0, 0, j, 0}, static_cast<double>(j));
    p.v.set({0, 0, j, 0}, static_cast<double>(1 << j));
  }
  p.plan = ChunkPlan::uniform(keys, 64);
  return p;
}

DeclaredTruth declared(const Problem& problem, const Semantics& semantics) {
  return {problem, semantics, compute_truth(problem)};
}

TEST(RowKinds, tell_apart_what_a_row_sees) {
  AttentionProblem p = attention(5, 4);
  p.bias = zeros({1, 1, 5, 4});
  for (std::int64_t j = 0; j < 4; ++j) p.bias.set({0, 0, 1, j}, -kInfinity);
  p.bias.set({0, 0, 2, 3}, kInfinity);
  p.bias.set({0, 0, 3, 0}, kInfinity);
  p.bias.set({0, 0, 3, 1}, std::nan(""));
  p.causal = true;  // row 0 sees nothing
  const std::vector<RowKind> kinds = row_kinds(p);
  EXPECT_EQ(kinds, (std::vector{RowKind::empty, RowKind::empty, RowKind::numbers, RowKind::nan, RowKind::numbers}));
  p.causal = false;
  EXPECT_EQ(row_kinds(p)[2], RowKind::infinite);
}

TEST(AsDeclared, a_mask_aligned_top_left_shows_the_first_keys) {
  AttentionProblem p = attention(2, 4);
  p.causal = true;
  const Problem other = as_declared(p, {.diagonal = Diagonal::top_left});
  EXPECT_EQ(std::get<AttentionProblem>(other).visible_keys(0, 0).last, 1);
  EXPECT_EQ(std::get<AttentionProblem>(other).visible_keys(0, 1).last, 2);
  EXPECT_EQ(p.visible_keys(0, 0).last, 3);
  const Truth truth = compute_truth(other);
  EXPECT_EQ(truth.o[0].hi, 1);  // of one key: its value
  EXPECT_TRUE(is_declared_otherwise(p, {.diagonal = Diagonal::top_left}));
  EXPECT_FALSE(is_declared_otherwise(other, {.diagonal = Diagonal::top_left}));
}

TEST(DeclaredTruth, lse_to_base_2_is_the_exact_one_times_log2_e) {
  const Problem p = attention(1, 4);
  const DeclaredTruth two = declared(p, {.lse_base = LseBase::two});
  const double exact = std::log2(std::exp(0.0L) + std::exp(1.0L) + std::exp(2.0L) + std::exp(3.0L));
  EXPECT_NEAR(two.truth().lse[0].hi, exact, 0x1p-50);
  EXPECT_LT(two.truth().lse[0].radius, 0x1p-24);
  Bound bound;
  bound.rows = 1, bound.width = 1;
  bound.o.resize(1), bound.lse.resize(1), bound.range.resize(1), bound.domain.resize(1);
  bound.accumulator_outside.resize(1), bound.frame = {2.5};
  bound.lse[0] = {.weights = 1e-6, .probable = 1e-7, .size = 3.44};
  const ElementBound lse = two.translated(bound, nullptr).lse[0];
  EXPECT_NEAR(lse.weights, 1e-6 * kLog2E, 1e-18);
  const double frame = (0x1p-24 + 0x1.dp-27) * (2.5 + 1e-6);
  EXPECT_NEAR(lse.output, (2 * 0x1p-24 * 3.44 + frame) * kLog2E, 1e-12);
  EXPECT_LE(lse.probable, lse.total());
}

// n equal scores, whose sum n is exact: all that errs is the conversion, before its last rounding. Where lse is near 0 the
// product fl(m·fl(log2 e)) errs by its share of m, which 2 u |lse| does not pay for.
TEST(DeclaredTruth, the_conversion_to_base_2_errs_by_what_is_charged_in_every_form) {
  constexpr float kLog2 = 0x1.715476p0F;
  double of_frame = 0, of_lse = 0;
  bool needed = false;
  for (int i = 0; i < 20000; ++i) {
    Random random(36, static_cast<std::uint64_t>(i));
    const double n = std::ldexp(1, static_cast<int>(random.integer(0, 17)));
    const double near = random.chance(0.5) ? 0 : random.uniform(-200, 200);
    const auto m = static_cast<float>(near - std::log(n) + random.uniform(-0.01, 0.01));
    const double lse = static_cast<double>(m) + std::log(n), exact = lse * kLog2E;
    ElementBound natural;
    natural.size = std::fabs(lse);
    const double charged = base_2_rounding(natural, std::log(n));
    const float product = m * kLog2;
    const double by_frame = std::fabs(static_cast<double>(product) + std::log2(n) - exact);
    const double by_lse = std::fabs(static_cast<double>(static_cast<float>(lse)) * static_cast<double>(kLog2) - exact);
    EXPECT_LE(by_frame, charged + 0x1p-48) << m << " " << n;
    EXPECT_LE(by_lse, charged + 0x1p-48) << m << " " << n;
    of_frame = std::max(of_frame, by_frame / charged);
    of_lse = std::max(of_lse, by_lse / charged);
    needed = needed || by_frame > 2 * 0x1p-24 * natural.size * kLog2E + 0x1p-40;
  }
  EXPECT_GT(of_frame, 0.6) << "loose";
  EXPECT_GT(of_lse, 0.5) << "loose";
  EXPECT_TRUE(needed) << "the frame's share is never needed";
}

// Two keys whose scores differ by less than a lazy frame waits for: m̂ is the first, `lag` below the maximum; λ near 0.
TEST(DeclaredTruth, a_frame_below_the_maximum_is_paid_for) {
  for (const int octaves : {8, 63}) {
    Arithmetic lazy;
    lazy.reduction = Reduction::chunk_deferred;
    lazy.lanes = 1;
    lazy.exp_error = 0x1p-22;
    lazy.log_error = 0x1p-23;
    lazy.lse_form = LseForm::max_plus_log;
    lazy.lazy_log2 = octaves;
    double worst = 0;
    for (int i = 0; i < 64; ++i) {
      const auto m = static_cast<float>(-std::log(2) * (octaves - 0.01) - i * 0x1p-9);
      AttentionProblem p = attention(1, 2);
      p.k.set({0, 0, 0, 0}, m);
      p.k.set({0, 0, 1, 0}, 0);
      p.plan = ChunkPlan::uniform(2, 1);
      const Bound bound = compute_bound(p, lazy);
      const double charged = base_2_rounding(bound.lse[0], bound.frame[0]);
      const double off = std::fabs(static_cast<double>(m * 0x1.715476p0F) - static_cast<double>(m) * kLog2E);
      EXPECT_LE(off, charged) << m;
      worst = std::max(worst, off / charged);
    }
    EXPECT_GT(worst, octaves == 8 ? 0.3 : 0.5) << "loose at " << octaves;
  }
}

// l = e^-m: λ = 0 of one state, whose m is nothing that ln n pays for.
TEST(DeclaredTruth, the_frame_of_a_state_with_a_sum_of_its_own_is_paid_for) {
  MergeProblem p;
  p.o = zeros({2, 1, 1}), p.lse = zeros({2, 1}), p.l = zeros({2, 1});
  p.order = {0, 1};
  Arithmetic sums;
  sums.reduction = Reduction::flat;
  sums.merge_weights = MergeWeights::max_sum;
  for (const float m : {-40.3F, 40.3F}) {
    for (const float empty : {-60.0F, 50.7F}) {
      p.lse.set({0, 0}, m), p.l.set({0, 0}, std::exp(-m));
      p.lse.set({1, 0}, empty);  // with l = 0
      const Bound bound = compute_bound(p, sums);
      for (const float frame : {m, std::max(m, empty)}) {
        const double off = std::fabs(static_cast<double>(frame * 0x1.715476p0F) - static_cast<double>(frame) * kLog2E);
        EXPECT_LE(off, base_2_rounding(bound.lse[0], bound.frame[0])) << frame;
      }
      EXPECT_LT(bound.frame[0], 61);
    }
  }
}

TEST(DeclaredTruth, rows_without_keys_are_what_is_declared_of_them) {
  AttentionProblem p = attention(2, 2);
  p.key_length = {0};
  const Semantics nan = {.empty_o = EmptyOutput::nan, .empty_lse = LseValue::plus_infinity};
  const DeclaredTruth as_nan = declared(p, nan);
  EXPECT_EQ(as_nan.truth().o[0].classes, kNaN);
  EXPECT_EQ(as_nan.truth().lse[1].classes, kPosInf);
  const DeclaredTruth mean = declared(p, {.empty_o = EmptyOutput::mean, .empty_lse = LseValue::any});
  ASSERT_NE(mean.equal_scores(), nullptr);
  EXPECT_EQ(mean.truth().o[0].hi, 1.5);
  EXPECT_EQ(mean.truth().lse[0].classes, kUnspecified);
  TrivialGaps gaps;
  gaps.o.resize(2), gaps.lse.resize(2);
  const TrivialGap gap = mean.translated(gaps).o[1];
  EXPECT_TRUE(gap.right) << "the mean is what computes nothing";
  EXPECT_NEAR(gap.distance, 0.5, 1e-6) << "of 1.5 from 1 and the largest value, 2";
}

TEST(DeclaredTruth, a_one_that_is_right_to_base_2_is_no_element_that_only_a_kernel_that_computes_has) {
  AttentionProblem p = attention(1, 2);
  p.q.set({0, 0, 0, 0}, 0);  // two scores of 0: log2(2)
  const Problem problem = p;
  const DeclaredTruth two = declared(problem, {.lse_base = LseBase::two});
  const TrivialGaps gaps = trivial_gaps(problem, compute_truth(problem));
  EXPECT_FALSE(gaps.lse[0].right);
  EXPECT_TRUE(two.translated(gaps).lse[0].right);
  p.q.set({0, 0, 0, 0}, 0x1p-10);
  const Problem beside = p;
  const DeclaredTruth near = declared(beside, {.lse_base = LseBase::two});
  const TrivialGap gap = near.translated(trivial_gaps(beside, compute_truth(beside))).lse[0];
  EXPECT_EQ(gap.nearest, Trivial::one);
  EXPECT_NEAR(gap.distance, near.truth().lse[0].hi - 1, 1e-12);
}

TEST(InReferenceTerms, what_is_declared_becomes_what_the_reference_says) {
  AttentionProblem p = attention(1, 2);
  p.key_length = {0};
  const Semantics nan = {.empty_o = EmptyOutput::nan, .empty_lse = LseValue::plus_infinity};
  const auto returned = [&](double o, double lse) {
    Output output{Tensor::dense(Format::f32, {1, 1}), Tensor::dense(Format::f32, {1})};
    output.o.set({0, 0}, o);
    output.lse.set({0}, lse);
    return in_reference_terms(p, nan, output);
  };
  EXPECT_EQ(returned(std::nan(""), kInfinity).o.at({0, 0}), 0);
  EXPECT_EQ(returned(std::nan(""), kInfinity).lse.at({0}), -kInfinity);
  EXPECT_EQ(returned(3, 5).o.at({0, 0}), 3) << "what is not declared stays";
  EXPECT_EQ(returned(3, 5).lse.at({0}), 5);
  EXPECT_TRUE(std::isnan(returned(0, -kInfinity).o.at({0, 0}))) << "what the reference says is not what is declared";
  EXPECT_EQ(returned(0, -kInfinity).lse.at({0}), kInfinity);
}

/// Either is right behind the length of a row (README.md of reference/problem).
TEST(InReferenceTerms, behind_the_length_of_a_softmax_row_zero_stays_zero) {
  SoftmaxProblem p;
  p.x = zeros({1, 3});
  p.row_length = {0};
  p.plan = ChunkPlan::uniform(3, 64);
  Output output{zeros({1, 3}), zeros({1})};
  output.o.set({0, 1}, std::nan(""));
  output.o.set({0, 2}, 7);
  output = in_reference_terms(p, {.empty_o = EmptyOutput::nan}, output);
  EXPECT_EQ(output.o.at({0, 0}), 0);
  EXPECT_EQ(output.o.at({0, 1}), 0);
  EXPECT_EQ(output.o.at({0, 2}), 7);
  p.row_length.clear();  // a row of -inf: every column is one of its own
  for (const std::int64_t c : {0, 1, 2}) p.x.set({0, c}, -kInfinity);
  EXPECT_TRUE(std::isnan(in_reference_terms(p, {.empty_o = EmptyOutput::nan}, output).o.at({0, 0})));
}

MergeProblem merge() {
  MergeProblem p;
  p.o = zeros({2, 2, 1});
  p.lse = zeros({2, 2});
  p.order = {0, 1};
  p.lse.set({0, 0}, 1);
  p.lse.set({1, 0}, kInfinity);
  p.lse.set({0, 1}, -kInfinity);
  p.lse.set({1, 1}, -100);
  return p;
}

TEST(HandedOver, states_to_base_2_and_empty_ones_in_both_ways) {
  const auto lse = [](const Problem& problem, std::int64_t s, std::int64_t r) {
    return std::get<MergeProblem>(problem).lse.at({s, r});
  };
  const Problem two = *handed_over(merge(), {.lse_base = LseBase::two});
  EXPECT_EQ(lse(two, 0, 0), static_cast<double>(static_cast<float>(kLog2E)));
  EXPECT_EQ(lse(two, 0, 1), -kInfinity);
  const Semantics empty = {.inf_state = InfiniteState::empty};
  const Problem judged = as_declared(merge(), empty);
  EXPECT_EQ(lse(judged, 1, 0), -kInfinity);
  EXPECT_EQ(lse(*handed_over(judged, empty), 1, 0), kInfinity) << "the kernel gets some of them as +inf";
  EXPECT_FALSE(handed_over(merge(), {}).has_value());
  MergeProblem large = merge();
  large.lse.set({0, 0}, 3e38);
  EXPECT_NE(not_handed_over(large, {.lse_base = LseBase::two}), "");
  EXPECT_EQ(not_handed_over(large, {}), "");
}

TEST(HandedOver, the_bound_pays_for_the_rounding_of_the_states) {
  const Problem p = merge();
  Bound bound;
  bound.rows = 2, bound.width = 1;
  bound.o.resize(2), bound.lse.resize(2);
  bound.o[1].size = 5;
  add_state_rounding(p, {.lse_base = LseBase::two}, bound);
  EXPECT_GE(bound.lse[1].total(), 100 * 0x1p-24);
  EXPECT_LT(bound.lse[1].total(), 101 * 0x1p-24);
  EXPECT_GE(bound.o[1].total(), 5 * 2 * 100 * 0x1p-24);

  MergeProblem huge = merge();  // e^(what is lost) is beyond doubles, and a term that is 0 may be none
  huge.lse.set({0, 1}, 1e30);
  bound.o[1].size = 0;
  bound.o[1].weights = 0;
  add_state_rounding(huge, {.lse_base = LseBase::two}, bound);
  EXPECT_EQ(bound.o[1].total(), kInfinity);
}

}  // namespace
}  // namespace flashproof
