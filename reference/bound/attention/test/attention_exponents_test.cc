// Exponent forms on exact scores, where their own errors are all there is: ŵ_j of the declared operations in f32 against
// e^{s_j − m}, as the paths charge it. An attention's scores err by as much as a fused frame does, so that only here the
// form's part shows alone.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include "reference/bound/attention/attention_paths.h"
#include "reference/bound/attention/attention_split.h"
#include "reference/bound/costs.h"
#include "reference/bound/test/one_row.h"
#include "reference/problem/random.h"

namespace flashproof::bound {
namespace {

constexpr double kLog2e = 1.4426950408889634;

struct Emulated {
  std::vector<double> log_weight;  // of every key in the last frame, nats, exact exponentials of the computed arguments
  RowModel row;
  Exponents exponents;
  double scale_error;
};

/// chunk_deferred with one key per chunk: the computed scores x (in their unit) make weights, and frames rise.
Emulated run(const std::vector<float>& x, float unit, Exponent form, bool raw) {
  AttentionProblem p = one_row(x, std::vector<float>(x.size(), 1.0F), 1);
  p.scale = unit;
  Arithmetic a = declared(Reduction::chunk_deferred);
  a.exponent = form;
  a.exp_error = 0;
  a.unit = raw ? ScoreUnit::raw : ScoreUnit::natural;
  const ScoreScale scale = score_scale(p, a, 0, 0);
  Emulated result{.log_weight = {}, .row = {}, .exponents = Exponents(a, scale), .scale_error = scale.c_error};
  const auto c = static_cast<float>(scale.unit.factor * kLog2e);
  std::vector<double> octaves;
  float frame = -INFINITY;
  for (const float score : x) {
    const float risen = std::max(frame, score);
    if (frame != -INFINITY) {
      const float down = (frame - risen) * c;
      for (double& y : octaves) y += down;
    }
    frame = risen;
    const float product = frame * c;
    float y = 0;
    if (form == Exponent::fused) {
      y = std::fma(score, c, -product);
    } else if (form == Exponent::unfused) {
      const float scaled = score * c;
      y = scaled - product;
    } else {
      const float difference = score - frame;
      y = difference * c;
    }
    octaves.push_back(y);
  }
  for (const double y : octaves) result.log_weight.push_back(y / kLog2e);
  Leaves& leaves = result.row.leaves;
  for (std::size_t j = 0; j < x.size(); ++j) {
    leaves.key.push_back(static_cast<std::int64_t>(j));
    leaves.score.push_back(scale.unit.factor * static_cast<double>(x[j]));
  }
  leaves.resize(x.size());
  result.row.frame = frame_of(leaves);
  AttentionHead head;
  head.load(p, 0, 0);
  AttentionPaths paths(p, a, scale);
  paths.charge(result.row, head);
  return result;
}

/// Largest |ln ŵ_j − (s_j − m) − κ| over its bound, for the κ in ±common that makes it least; `without`: what to take off
/// every bound. Violated above 1.
double worst(const Emulated& e, double without) {
  double low = -e.row.common, high = e.row.common;
  double ratio = 0;
  const Leaves& leaves = e.row.leaves;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    const double error = e.log_weight[j] - (leaves.score[j] - e.row.frame.max);
    const double bound = std::max(leaves.exponent[j] - without, 0.0) + 1e-14 * std::fabs(e.row.frame.max);
    low = std::max(low, error - bound);
    high = std::min(high, error + bound);
    ratio = std::max(ratio, std::fabs(error) / (bound + e.row.common));
  }
  return low > high ? 2 : std::min(ratio, 1.0);
}

/// Steps of a few spacings; the spread stays within a few units whatever the size.
std::vector<float> rising(double size, int keys, Random& random) {
  std::vector<float> x;
  double at = size;
  for (int j = 0; j < keys; ++j) {
    x.push_back(static_cast<float>(at));
    at += std::max(std::ldexp(size, -22), 0.01) * random.uniform(0, 3);
  }
  return x;
}

// None of them becomes another without its rate.
static_assert(!std::is_convertible_v<Raw, Nats> && !std::is_convertible_v<Uncapped, Nats> &&
              !std::is_convertible_v<Dot, Uncapped> && !std::is_convertible_v<Octaves, Nats> &&
              !std::is_convertible_v<double, Nats>);
static_assert(std::is_invocable_v<decltype(frame_cost), const Arithmetic&, Nats> &&
              !std::is_invocable_v<decltype(frame_cost), const Arithmetic&, Raw> &&
              !std::is_invocable_v<decltype(frame_cost), const Arithmetic&, double> &&
              !std::is_invocable_v<decltype(unshifted_cost), const Arithmetic&, Octaves> &&
              !std::is_invocable_v<decltype(head_room), const Arithmetic&, Octaves, double>);
static_assert(std::is_same_v<std::invoke_result_t<Rate<Nats, Raw>, Raw>, Nats> &&
              !std::is_invocable_v<Rate<Nats, Raw>, Nats> && !std::is_invocable_v<Rate<Uncapped, Dot>, Raw>);

TEST(AttentionExponents, a_fused_frame_that_rises_costs_its_size_and_one_that_stays_does_not) {
  for (const double size : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    double optimistic = 0;
    for (int round = 0; round < 50; ++round) {
      Random random(31, static_cast<std::uint64_t>(round));
      const std::vector<float> x = rising(size, 20, random);
      const Emulated e = run(x, 1, Exponent::fused, false);
      EXPECT_LE(worst(e, 0), 1) << size;
      EXPECT_GT(e.row.leaves.exponent[0], 0x1p-24 * size);
      optimistic = std::max(optimistic, worst(e, e.exponents.frame_error({0}, {size}).count));

      const std::vector<float> falling(x.rbegin(), x.rend());
      const Emulated stays = run(falling, 1, Exponent::fused, false);
      EXPECT_LE(worst(stays, 0), 1) << size;
      // In o nothing of the size is left but through 2u of the spread; all weights share κ, which lse sees.
      const double spread = falling.front() - falling.back();
      EXPECT_LT(stays.row.leaves.exponent.back(), 0x1p-21 * spread + 0x1p-20 * 0x1p-24 * size + 1e-30);
      EXPECT_GT(stays.row.common, 0x1p-24 * size);
    }
    EXPECT_GT(optimistic, 1) << "without the frame's part nothing is violated at " << size;
  }
}

TEST(AttentionExponents, unfused_costs_the_size_of_every_score_and_subtracting_first_does_not) {
  double optimistic = 0;
  for (int round = 0; round < 50; ++round) {
    Random random(32, static_cast<std::uint64_t>(round));
    std::vector<float> x = rising(1e5, 20, random);
    std::swap(x.front(), x.back());
    const Emulated unfused = run(x, 1, Exponent::unfused, false);
    EXPECT_LE(worst(unfused, 0), 1);
    optimistic = std::max(optimistic, worst(unfused, unfused.exponents.frame_error({0}, {1e5}).count));
    const Emulated subtracted = run(x, 1, Exponent::subtract_then_scale, false);
    EXPECT_LE(worst(subtracted, 0), 1);
    EXPECT_LT(subtracted.row.leaves.exponent[1], 1e-5) << "no |m| in this form";
    EXPECT_EQ(subtracted.row.common, 0);
  }
  EXPECT_GT(optimistic, 1) << "without the product's rounding nothing is violated";
}

TEST(AttentionExponents, a_folded_scale_costs_its_rounding_over_the_spread) {
  bool needed = false;
  for (int i = 0; i < 2000; ++i) {
    Random random(33, static_cast<std::uint64_t>(i));
    const auto unit = static_cast<float>(random.uniform(0.1, 3));
    const double spread = random.uniform(30, 80);
    const std::vector<float> x = {static_cast<float>(spread / unit), static_cast<float>(random.uniform(-0.1, 0))};
    const Emulated e = run(x, unit, Exponent::subtract_then_scale, true);
    EXPECT_LE(worst(e, 0), 1) << unit;
    needed = needed || worst(e, e.scale_error * spread) > 1;
  }
  EXPECT_TRUE(needed) << "no scale needs its rounding";
}

TEST(AttentionExponents, lse_forms_cost_what_their_products_round) {
  ScoreScale scale{.unit = {1.1F}, .c_error = 0, .c_hat = {0}};
  AttentionProblem p = one_row({1.0F}, {1.0F}, 1);
  p.scale = 1.1F;
  for (const LseForm form : {LseForm::scaled_max_plus_log, LseForm::base2}) {
    Arithmetic a = declared(Reduction::chunk_deferred);
    a.unit = ScoreUnit::raw;
    a.exponent = Exponent::subtract_then_scale;
    a.lse_form = form;
    scale = score_scale(p, a, 0, 0);
    const auto c = static_cast<float>(scale.unit.factor * kLog2e);
    double largest = 0;
    for (int i = 0; i < 5000; ++i) {
      const float frame = 1e5F + 13.0F * static_cast<float>(i);
      const auto l = static_cast<float>(1 + 0.37 * (i % 19));
      const double exact = scale.unit.factor * static_cast<double>(frame) + std::log(static_cast<double>(l));
      double computed = 0;  // without the last rounding
      if (form == LseForm::base2) {
        const float product = frame * c;
        const float sum = product + static_cast<float>(std::log2(static_cast<double>(l)));
        computed = static_cast<double>(sum) * 0.693147182464599609375;  // fl(ln 2)
      } else {
        const float product = frame * 1.1F;
        computed = static_cast<double>(product) + std::log(static_cast<double>(l));
      }
      const double cost = lse_form_cost(a, scale, scale.unit(Raw{frame}), Nats{exact}) + 1e-6;  // of log2 l
      EXPECT_LE(std::fabs(computed - exact), cost);
      largest = std::max(largest, std::fabs(computed - exact) / cost);
    }
    EXPECT_GT(largest, 0.3) << "loose";
  }
}

// FlashAttention-3 and xFormers return to nats before the sum: with a negative maximum and a sum that brings lse near 0 their
// second rounding is relative to the maximum, not to lse.
TEST(AttentionExponents, base2_holds_of_frames_that_return_to_nats_before_the_sum) {
  constexpr float kLn2 = 0.693147182464599609375F, kLog2 = 1.44269502162933349609375F;
  Arithmetic a = declared(Reduction::chunk_deferred);
  a.unit = ScoreUnit::raw;
  a.exponent = Exponent::fused;
  a.lse_form = LseForm::base2;
  double largest = 0, beside_lse = 0;
  for (int i = 0; i < 5000; ++i) {
    Random random(35, static_cast<std::uint64_t>(i));
    AttentionProblem p = one_row({1.0F}, {1.0F}, 1);
    p.scale = static_cast<float>(random.uniform(0.1, 3));
    const ScoreScale scale = score_scale(p, a, 0, 0);
    const auto frame = static_cast<float>(-random.uniform(5, 12));
    const double exact = scale.unit.factor * static_cast<double>(frame);
    const auto c = static_cast<float>(scale.unit.factor * kLog2e);
    const float folded = c * kLn2, scaled = frame * (p.scale * kLog2);
    const float fa3 = frame * folded, xformers = scaled / kLog2;
    const double cost = lse_form_cost(a, scale, Nats{std::fabs(exact)}, {});  // lse = 0
    for (const float computed : {fa3, xformers}) {
      const double error = std::fabs(static_cast<double>(computed) - exact);
      EXPECT_LE(error, cost) << p.scale << " " << frame;
      largest = std::max(largest, error / cost);
      // What two relative errors of at most u on lse = 0 would leave: the first product and the constant.
      beside_lse = std::max(beside_lse, error / ((0x1p-24 + scale.c_error) * std::fabs(exact) * (1 + 0x1p-20)));
    }
  }
  EXPECT_GT(largest, 0.5) << "loose";
  EXPECT_GT(beside_lse, 1) << "the second rounding is not needed";
}

}  // namespace
}  // namespace flashproof::bound
