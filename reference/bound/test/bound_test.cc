// The bound against an emulated kernel: f32 operations in the declared order, an exponential whose error is as large as
// declared and points where the test wants it. Truth is long double (2^-64), far below every figure compared.
#include "reference/bound/bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "reference/bound/problem_bounds.h"
#include "reference/bound/row/theorem.h"
#include "reference/bound/test/one_row.h"
#include "reference/problem/random.h"

namespace flashproof::bound {
namespace {

/// e^x with relative error exactly `lean` (before the rounding to f32, which the declared error has room for: |lean| is
/// at most half of it), absolute in the subnormal range.
float leaning_exp(float x, double lean) {
  return x == 0 ? 1.0F : static_cast<float>(std::exp(static_cast<double>(x)) * (1 + lean));
}

using Lean = std::function<double(std::size_t)>;  // per key

struct Result {
  long double o, lse;
};

/// chunk_deferred with one lane.
Result deferred(const std::vector<float>& s, const std::vector<float>& v, int chunk, const Lean& lean) {
  float m = -INFINITY;
  float l = 0;
  float acc = 0;
  for (std::size_t begin = 0; begin < s.size(); begin += chunk) {
    const std::size_t end = std::min(s.size(), begin + chunk);
    float m_new = m;
    for (std::size_t j = begin; j < end; ++j) {
      m_new = std::max(m_new, s[j]);
    }
    const float alpha = m == -INFINITY ? 0.0F : leaning_exp(m - m_new, lean(begin));
    float added = 0;
    acc = acc * alpha;
    for (std::size_t j = begin; j < end; ++j) {
      const float p = leaning_exp(s[j] - m_new, lean(j));
      added += p;
      acc = std::fma(p, v[j], acc);
    }
    l = l * alpha + added;
    m = m_new;
  }
  return {static_cast<long double>(acc) / l, m + std::log(static_cast<long double>(l))};
}

/// chunk_normalized with one lane.
Result normalized(const std::vector<float>& s, const std::vector<float>& v, int chunk, const Lean& lean) {
  float m = -INFINITY;
  float l = 0;
  float o = 0;
  for (std::size_t begin = 0; begin < s.size(); begin += chunk) {
    const std::size_t end = std::min(s.size(), begin + chunk);
    float m_chunk = -INFINITY;
    for (std::size_t j = begin; j < end; ++j) {
      m_chunk = std::max(m_chunk, s[j]);
    }
    float l_chunk = 0;
    float pv = 0;
    for (std::size_t j = begin; j < end; ++j) {
      const float p = leaning_exp(s[j] - m_chunk, lean(j));
      l_chunk += p;
      pv = std::fma(p, v[j], pv);
    }
    const float m_new = std::max(m, m_chunk);
    const float beta = leaning_exp(m_chunk - m_new, lean(begin));
    const float l_old = m == -INFINITY ? 0.0F : l * leaning_exp(m - m_new, lean(begin));
    l = l_old + beta * l_chunk;
    o = (1.0F / l) * (l_old * o + beta * pv);
    m = m_new;
  }
  return {static_cast<long double>(o), m + std::log(static_cast<long double>(l))};
}

Result exact(const std::vector<float>& s, const std::vector<float>& v) {
  long double m = -INFINITY;
  for (const float x : s) {
    m = std::max<long double>(m, x);
  }
  long double l = 0;
  long double n = 0;
  for (std::size_t j = 0; j < s.size(); ++j) {
    const long double w = std::exp(s[j] - m);
    l += w;
    n += w * v[j];
  }
  return {n / l, m + std::log(l)};
}

struct Ratio {
  double o, lse;
  ElementBound bound;
};

Ratio ratio(Reduction reduction, const std::vector<float>& s, const std::vector<float>& v, int chunk,
            const Lean& lean) {
  const Bound bound = compute_bound(one_row(s, v, chunk), declared(reduction));
  const Result got =
      reduction == Reduction::chunk_deferred ? deferred(s, v, chunk, lean) : normalized(s, v, chunk, lean);
  const Result want = exact(s, v);
  // The emulated output is f32 where the kernel's last operation is rounded: that rounding is not in the bound.
  const double last = reduction == Reduction::chunk_deferred ? 0 : 0x1p-24 * std::fabs(static_cast<double>(want.o));
  return {static_cast<double>(std::fabs(got.o - want.o)) / (bound.o[0].total() + last),
          static_cast<double>(std::fabs(got.lse - want.lse)) / bound.lse[0].total(), bound.o[0]};
}

TEST(Bound, holds_for_emulated_kernels_on_random_rows) {
  double worst = 0;
  int vacuous = 0;
  for (int round = 0; round < 4000; ++round) {
    Random random(7, round);
    const int n = static_cast<int>(random.integer(1, 70));
    const int chunk = static_cast<int>(random.integer(1, 20));
    const double spread = random.uniform(0, round % 4 == 0 ? 110 : 6);
    const double offset = random.uniform(-1000, 1000);
    const int shape = static_cast<int>(random.integer(0, 2));
    std::vector<float> s(n);
    std::vector<float> v(n);
    for (int j = 0; j < n; ++j) {
      const double ramp = shape == 0 ? random.uniform(-1, 1) : (shape == 1 ? double(j) / n : -double(j) / n);
      s[j] = static_cast<float>(offset + spread * ramp);
      v[j] = static_cast<float>(random.chance(0.5) ? random.normal() : std::fabs(random.normal()));
    }
    const Lean towards = [&](std::size_t j) { return (v[j] > 0 ? 0.5 : -0.5) * kExpError; };
    for (const Reduction reduction : {Reduction::chunk_deferred, Reduction::chunk_normalized}) {
      const Ratio r = ratio(reduction, s, v, chunk, towards);
      ASSERT_LE(r.o, 1) << "round " << round;
      ASSERT_LE(r.lse, 1) << "round " << round;
      worst = std::max(worst, r.o);
      vacuous += !(r.bound.total() < 0.5);
    }
  }
  EXPECT_GE(worst, 0.3) << "the bound has gone soft";
  EXPECT_LE(vacuous, 80);
}

// Each part has a case that it must pay for: without it the bound would be violated (negative control).

TEST(Bound, absolute_underflow_pays_for_a_subnormal_weight_beside_a_huge_value) {
  // e^-100 is subnormal: its rounding, up to 2^-150, meets |v| = 1e30, and no relative term sees it.
  double worst = 0;
  double worst_without = 0;
  for (int i = 0; i < 60; ++i) {
    const std::vector<float> s = {0, -100.0F - 0.05F * static_cast<float>(i)};
    const std::vector<float> v = {0, 1e30F};
    const Ratio r = ratio(Reduction::chunk_deferred, s, v, 2, [](std::size_t) { return 0.0; });
    EXPECT_LE(r.o, 1);
    worst = std::max(worst, r.o);
    const double relative_only = r.o * r.bound.total() / (std::exp(double(s[1])) * 1e30 * 2e-5);
    worst_without = std::max(worst_without, relative_only);
  }
  EXPECT_GE(worst, 0.3);
  EXPECT_GE(worst_without, 100) << "the case does not need the underflow part";
}

TEST(Bound, weights_pay_for_leaning_exponentials) {
  // Equal scores just below one maximum without value, v = ±1, every exponential leaning towards its v.
  std::vector<float> s(41, 0.0F);
  std::vector<float> v(41);
  s[0] = 0.1F;
  for (int j = 1; j < 41; ++j) {
    v[j] = j % 2 == 0 ? 1.0F : -1.0F;
  }
  const Ratio r = ratio(Reduction::chunk_deferred, s, v, 41, [&](std::size_t j) { return v[j] * 0.5 * kExpError; });
  EXPECT_LE(r.o, 1);
  EXPECT_GE(r.o * r.bound.total() / r.bound.weights, 0.3);
}

TEST(Bound, each_rise_of_the_maximum_is_counted) {
  // A staircase of 64 chunks whose rescales all lean the same way: with one exponential per key instead of one per rise
  // the bound would be violated.
  std::vector<float> s(64);
  std::vector<float> v(64, 0.0F);
  for (int j = 0; j < 64; ++j) {
    s[j] = 0.03125F * static_cast<float>(j);
  }
  v[0] = 1;
  const Lean up = [](std::size_t) { return 0.5 * kExpError; };
  const Ratio r = ratio(Reduction::chunk_deferred, s, v, 1, up);
  EXPECT_LE(r.o, 1);
  EXPECT_GE(r.o * r.bound.total() / r.bound.weights,
            0.1);  // the other keys lean too, by the fewer rises they have left

  RowModel model;
  std::vector<double> values(64, 0.0);
  values[0] = 1;
  for (int j = 0; j < 64; ++j) {
    model.leaves.key.push_back(j);
    model.leaves.score.push_back(s[j]);
  }
  model.leaves.resize(64);
  model.frame = frame_of(model.leaves);
  for (int j = 0; j < 64; ++j) {
    model.leaves.numerator[j] = roundings(64 - j);
    model.leaves.denominator[j] = roundings(64);
    const Arithmetic arithmetic = declared(Reduction::chunk_deferred);
    const double below = model.frame.max - model.leaves.score[j];  // H of one exponential: README.md, section 1
    if (below > 0) model.leaves.exponent[j] = exponent_slope(arithmetic) * below - std::log1p(-arithmetic.exp_error);
  }
  double range = 0;
  const double optimistic = column_bound(model, perturbed_weights(model), values, 0, range).weights;
  const double error = static_cast<double>(std::fabs(deferred(s, v, 1, up).o - exact(s, v).o));
  EXPECT_GT(error, optimistic) << "the case does not need the rises";
}

TEST(Bound, numerator_and_denominator_pay_for_sums_that_always_round_one_way) {
  // Greedy: among 64 neighbouring values take the one that pushes the running sum's rounding error up the most.
  std::vector<float> s(512, 0.0F);
  std::vector<float> v(512);
  float acc = 0;
  for (float& value : v) {
    double best = -1;
    for (int i = 0; i < 64; ++i) {
      const float candidate = 1.0F + 0.013F * static_cast<float>(i) + 0x1p-20F * static_cast<float>(i * i);
      const double error = static_cast<double>(acc + candidate) - (static_cast<double>(acc) + candidate);
      if (error > best) {
        best = error;
        value = candidate;
      }
    }
    acc += value;
  }
  const Ratio r = ratio(Reduction::chunk_deferred, s, v, 512, [](std::size_t) { return 0.0; });
  EXPECT_LE(r.o, 1);
  EXPECT_GE(r.o, 0.1);
  EXPECT_GT(r.bound.numerator, 10 * r.bound.weights);
}

TEST(Bound, normalizing_every_chunk_costs_more_than_deferring) {
  std::vector<float> s(64, 1.0F);
  std::vector<float> v(64, 1.5F);
  const auto lean = [](std::size_t) { return 0.0; };
  const Ratio per_chunk = ratio(Reduction::chunk_normalized, s, v, 1, lean);
  const Ratio deferred_once = ratio(Reduction::chunk_deferred, s, v, 1, lean);
  // 4 per chunk against at most 2 (one fma, one possible rise).
  EXPECT_GT(per_chunk.bound.numerator, 1.9 * deferred_once.bound.numerator);
}

TEST(Bound, a_dominant_key_at_1e38_is_not_vacuous) {
  const AttentionProblem p = one_row({1e38F, -1e38F, 5e37F}, {2.0F, 3.0F, -1.0F}, 2);
  const Bound bound = compute_bound(p, declared(Reduction::chunk_deferred));
  EXPECT_TRUE(bound.domain[0].holds()) << bound.domain[0].nearest.name;
  EXPECT_LT(bound.o[0].total(), 1e-5);
}

TEST(Bound, scores_beyond_f32_are_out_of_domain) {
  AttentionProblem p = one_row({3e38F, 1.0F}, {1.0F, 2.0F}, 2);
  p.scale = 2;
  const Bound bound = compute_bound(p, declared(Reduction::chunk_deferred));
  EXPECT_FALSE(bound.domain[0].holds());
}

TEST(Bound, vanishing_gap_is_vacuous_where_scores_are_uncertain) {
  // Two keys at 1e9 whose difference is far below the scores' own rounding.
  AttentionProblem p = one_row({1.0F, 1.0F}, {1.0F, -1.0F}, 2);
  p.scale = 1e9F;
  const Bound bound = compute_bound(p, declared(Reduction::chunk_deferred));
  EXPECT_GE(bound.o[0].total(), bound.range[0] / 2);
}

TEST(Bound, is_a_number_whatever_the_scores) {
  // inf · 0: an exponent beyond 709 or scores known to no digit, beside values that do not differ or are 0.
  for (const float score : {1e9F, 1e10F, 1e12F, 1e18F, 1e30F}) {
    for (const auto& v : std::vector<std::vector<float>>{{1, 1}, {0, 0}, {1, 1.0000001F}, {0, 1}, {1, -1}}) {
      AttentionProblem p = one_row({1.0F, 1.0F}, v, 1);
      p.scale = score;
      for (const Reduction reduction : {Reduction::chunk_deferred, Reduction::chunk_normalized}) {
        const Bound bound = compute_bound(p, declared(reduction));  // throws if not
        EXPECT_GE(bound.o[0].total(), 0) << score;
        if (v[0] == v[1]) {
          EXPECT_LT(bound.o[0].total(), 1e-5) << "a mean of equal values is that value: " << score;
        }
      }
    }
  }
}

TEST(Bound, a_rounded_reciprocal_costs_one_more_rounding) {
  const AttentionProblem p = one_row({1.0F, 2.0F}, {1.0F, 3.0F}, 2);
  Arithmetic arithmetic = declared(Reduction::chunk_deferred);
  const double divide = compute_bound(p, arithmetic).o[0].output;
  arithmetic.ending = Ending::multiply_reciprocal;
  EXPECT_GE(compute_bound(p, arithmetic).o[0].output, divide + 0x1p-24);
}

TEST(Bound, a_declaration_that_no_theorem_covers_is_refused) {
  const AttentionProblem p = one_row({1.0F}, {1.0F}, 1);
  EXPECT_THROW(compute_bound(p, declared(Reduction::chunked_online)), std::invalid_argument);
  Arithmetic three_lanes = declared(Reduction::chunk_deferred);
  three_lanes.lanes = 3;
  EXPECT_THROW(compute_bound(p, three_lanes), std::invalid_argument);
  Arithmetic no_error = declared(Reduction::chunk_deferred);
  no_error.exp_error = -1;
  EXPECT_THROW(compute_bound(p, no_error), std::invalid_argument);
}

TEST(Bound, neighbouring_keys_of_one_lane_are_added_there) {
  // Four keys, two visible neighbours: dealt one by one to four lanes each is alone in its lane, in pairs they are added.
  AttentionProblem p = one_row({1.0F, 1.0F, 0.5F, 0.5F}, {1.0F, 3.0F, 5.0F, 7.0F}, 4);
  p.key_length = {2};
  Arithmetic alone = declared(Reduction::chunk_deferred);
  alone.lanes = 4;
  Arithmetic paired = alone;
  paired.deal = 2;
  EXPECT_GT(compute_bound(p, paired).o[0].denominator, compute_bound(p, alone).o[0].denominator * 1.1);
  paired.deal = 3;
  EXPECT_THROW(compute_bound(p, paired), std::invalid_argument);
}

TEST(Bound, a_huge_column_leaves_the_domain_alone) {
  AttentionProblem p = one_row({1.0F, 1.0F}, {0, 0}, 2);
  p.v = Tensor::dense(Format::f32, {1, 1, 2, 2});
  for (std::int64_t j = 0; j < 2; ++j) {
    p.v.set({0, 0, j, 0}, 3e38);
    p.v.set({0, 0, j, 1}, 1);
  }
  const Bound bound = compute_bound(p, declared(Reduction::chunk_deferred));
  EXPECT_FALSE(bound.domain_of(0).holds());
  EXPECT_TRUE(bound.domain_of(1).holds());
  EXPECT_TRUE(bound.domain[0].holds()) << "lse does not depend on v";
}

TEST(MergeBound, every_hop_costs_the_rounding_of_a_large_lse) {
  const Arithmetic fold{.reduction = Reduction::pairwise_fold, .exp_error = kExpError, .log_error = kLogError};
  const std::vector<float> lse(16, 1e5F);
  std::vector<float> o(16);
  for (int c = 0; c < 16; ++c) {
    o[c] = c % 2 == 0 ? 1.0F : -1.0F;
  }
  const Bound many = compute_bound(merge_row(lse, o), fold);
  const Bound two = compute_bound(merge_row({1e5F, 1e5F}, {1.0F, -1.0F}), fold);
  // u·1e5 = 6e-3 for every inner node, charged to its smaller side; two states have no inner node.
  EXPECT_GT(many.o[0].weights, 4e-3);
  EXPECT_LT(two.o[0].weights, 1e-6);
  EXPECT_LT(two.lse[0].total(), 1e-6) << "the last rounding belongs to the verdict, not to the bound";
}

TEST(MergeBound, a_copy_and_an_empty_state_cost_nothing) {
  const Arithmetic fold{.reduction = Reduction::pairwise_fold, .exp_error = kExpError, .log_error = kLogError};
  const Bound bound = compute_bound(merge_row({-INFINITY, 3.0F, -INFINITY}, {NAN, 2.0F, NAN}), fold);
  EXPECT_EQ(bound.o[0].total(), 0);
  EXPECT_EQ(bound.lse[0].total(), 0);
}

TEST(MergeBound, states_at_the_end_of_the_range_are_out_of_domain) {
  // The weights of a node sum to 1 within a few u: a mean of FLT_MAX with itself may round to infinity.
  const Arithmetic fold{.reduction = Reduction::pairwise_fold, .exp_error = kExpError, .log_error = kLogError};
  const float largest = std::numeric_limits<float>::max();
  EXPECT_FALSE(compute_bound(merge_row({0, -0.5F, 20}, {largest, largest, 0}), fold).domain_of(0).holds());
  EXPECT_TRUE(compute_bound(merge_row({0, -0.5F, 20}, {1e37F, 1e37F, 0}), fold).domain_of(0).holds());
}

TEST(MergeBound, is_a_number_whatever_the_states) {
  for (const MergeWeights weights : {MergeWeights::stable, MergeWeights::one_sided}) {
    const Arithmetic fold{.reduction = Reduction::pairwise_fold,
                          .exp_error = kExpError,
                          .log_error = kLogError,
                          .merge_weights = weights};
    for (const float lse : {1e5F, 1e12F, 1e30F, 3e38F}) {
      for (const float other : {lse, -lse, 0.0F, lse / 2}) {
        for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
          MergeProblem p = merge_row({lse, other, lse}, {1, 0, 1e30F});
          p.form = form;
          const Bound bound = compute_bound(p, fold);  // throws if not
          EXPECT_GE(bound.o[0].total(), 0);
          EXPECT_GE(bound.lse[0].total(), 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashproof::bound
