// What README.md says in words: which reduction pays for what, where a form leaves its domain, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "reference/bound/bound.h"
#include "reference/bound/softmax/softmax_row.h"
#include "reference/system/error.h"

namespace flashproof::bound {
namespace {

SoftmaxProblem row_of(const std::vector<float>& x, std::int64_t chunk, Format format = Format::f32) {
  const auto n = static_cast<std::int64_t>(x.size());
  SoftmaxProblem p;
  p.x = Tensor::dense(format, {1, n});
  for (std::int64_t j = 0; j < n; ++j) p.x.set({0, j}, x[j]);
  p.plan = ChunkPlan::uniform(n, chunk);
  return p;
}

constexpr Arithmetic of(Reduction reduction, Exponent exponent = Exponent::accurate) {
  return {
      .reduction = reduction, .exponent = exponent, .exp_error = 0x1p-23, .log_error = 0x1p-23, .lanes = 1, .warps = 1};
}

std::vector<float> ramp(int n, float step, float offset) {
  std::vector<float> x(n);
  for (int j = 0; j < n; ++j) x[j] = offset + step * static_cast<float>(j);
  return x;
}

TEST(SoftmaxBound, a_rising_maximum_costs_what_two_passes_do_not_pay) {
  const SoftmaxProblem p = row_of(ramp(256, 0.001F, 0), 1);
  const double online = compute_bound(p, of(Reduction::chunked_online)).o[0].total();
  const double once = compute_bound(p, of(Reduction::two_pass)).o[0].total();
  EXPECT_GT(online, 2 * once);
}

TEST(SoftmaxBound, the_fused_exponent_pays_the_frame_only_where_it_moves) {
  const float offset = 1e5F;
  const SoftmaxProblem rising = row_of(ramp(8, 0.5F, offset), 1);
  const SoftmaxProblem falling = row_of(ramp(8, -0.5F, offset), 1);
  const double hop = 1e5 * 0x1p-24;
  const auto relative = [](const SoftmaxProblem& p, const Arithmetic& a, std::size_t j) {
    const Bound bound = compute_bound(p, a);
    return bound.o[j].total() / bound.o[j].size;
  };
  EXPECT_GT(relative(rising, of(Reduction::chunked_online, Exponent::fused), 7), hop);
  EXPECT_LT(relative(falling, of(Reduction::chunked_online, Exponent::fused), 0), 1e-5);
  EXPECT_LT(relative(rising, of(Reduction::two_pass, Exponent::fused), 7), 1e-5);
  EXPECT_LT(relative(rising, of(Reduction::chunked_online, Exponent::subtract_then_scale), 7), 1e-5);
  EXPECT_GT(compute_bound(falling, of(Reduction::two_pass, Exponent::fused)).lse[0].total(), 0.9 * hop)
      << "lse sees it";
}

TEST(SoftmaxBound, a_division_free_ending_pays_for_the_lse) {
  const SoftmaxProblem p = row_of(std::vector<float>(8, 1e5F), 8);
  Arithmetic a = of(Reduction::two_pass);
  const double divided = compute_bound(p, a).o[0].total();
  a.ending = Ending::division_free;
  const double free = compute_bound(p, a).o[0].total();
  EXPECT_LT(divided, 1e-6);
  EXPECT_GT(free, 0.125 * 1e5 * 0x1p-24 * 0.9);
}

TEST(SoftmaxBound, states_of_chunks_pay_for_their_lse_and_a_single_one_does_not) {
  Arithmetic a = of(Reduction::chunk_states);
  a.merge_weights = MergeWeights::shifted;
  const std::vector<float> x(8, 1e5F);
  const double several = compute_bound(row_of(x, 2), a).o[0].total();
  const double one = compute_bound(row_of(x, 8), a).o[0].total();
  EXPECT_GT(several, 0.1 * 1e5 * 0x1p-24);
  EXPECT_LT(one, 1e-6);
  a.merge_weights = MergeWeights::max_sum;
  EXPECT_LT(compute_bound(row_of(x, 2), a).o[0].total(), 1e-6);
}

TEST(SoftmaxBound, the_sum_of_unshifted_exponentials_overflows_before_a_term_does) {
  const Arithmetic a = of(Reduction::unshifted);
  const auto holds = [&a](const std::vector<float>& x) {
    const RowDomain domain = compute_bound(row_of(x, 1), a).domain[0];
    EXPECT_TRUE(domain.holds()) << "no excuse: another form has a result";
    return domain.form.holds();
  };
  EXPECT_TRUE(holds({88}));
  EXPECT_FALSE(holds({88, 88, 88, 88}));
  EXPECT_FALSE(holds({-90, -91})) << "0/0";
  const auto all = preconditions(Problem(row_of({88, 88, 88, 88}, 1)), a, 0);
  const auto failed = std::ranges::find_if(all, [](const Precondition& p) { return !p.holds(); });
  ASSERT_NE(failed, all.end());
  EXPECT_NEAR(failed->value, 88 + std::log(4.0), 1e-3);
}

TEST(SoftmaxBound, the_fused_exponent_needs_head_room_at_every_frame_it_visits) {
  const auto holds = [](float first, Exponent exponent) {
    return compute_bound(row_of({first, 0}, 1), of(Reduction::chunked_online, exponent)).domain[0].holds();
  };
  EXPECT_TRUE(holds(-1e8F, Exponent::fused));
  EXPECT_FALSE(holds(-3e9F, Exponent::fused)) << "u·3e9 > 126 octaves, in the frame of the first chunk";
  EXPECT_TRUE(holds(-3e9F, Exponent::subtract_then_scale));
}

TEST(SoftmaxBound, is_a_number_whatever_the_row) {
  for (const Reduction reduction : {Reduction::strided_online, Reduction::chunked_online, Reduction::two_pass,
                                    Reduction::chunk_states, Reduction::unshifted}) {
    for (const MergeWeights weights : {MergeWeights::max_sum, MergeWeights::shifted, MergeWeights::unshifted}) {
      for (const Exponent exponent : {Exponent::accurate, Exponent::scaled_exp2, Exponent::fused, Exponent::unfused}) {
        Arithmetic a = of(reduction, exponent);
        a.merge_weights = weights;
        for (const float x : {1e-45F, 1.0F, 88.0F, 200.0F, 1e9F, 3e38F}) {
          for (const auto& row : std::vector<std::vector<float>>{{x}, {x, -x}, {-x, x, 0}, {-x, -x}, {x, x / 2, x}}) {
            const Bound bound = compute_bound(row_of(row, 1), a);  // throws if not
            for (const ElementBound& element : bound.o) EXPECT_LE(element.probable, element.total());
          }
        }
      }
    }
  }
}

TEST(SoftmaxBound, a_key_equal_to_the_maximum_of_its_lane_pays_no_exponential) {
  const auto own = [](const std::vector<float>& x, Exponent exponent) {
    return softmax_row(row_of(x, 1), of(Reduction::strided_online, exponent), {x.begin(), x.end()}).own;
  };
  for (const Exponent exponent : {Exponent::accurate, Exponent::scaled_exp2}) {
    EXPECT_EQ(own({1, 1, 0}, exponent)[1], 0);
    EXPECT_GT(own({1, 1, 0}, exponent)[2], 0x1p-24);
    const ElementBound equal =
        compute_bound(row_of(std::vector<float>(9, 3.0F), 1), of(Reduction::strided_online, exponent)).o[4];
    EXPECT_LT(equal.weights, equal.size * 0x1p-28) << "every weight is 1 exactly";
  }
  EXPECT_LT(own({1, 1, 0}, Exponent::unfused)[1], 0x1p-22) << "the products, not the exponential";
  EXPECT_GT(own({1, 1, 0}, Exponent::unfused)[1], 0);
  EXPECT_GT(own({1, 1, 0}, Exponent::fused)[1], 0x1p-23) << "fma(x, c, -fl(x c)) is not 0";
}

TEST(SoftmaxBound, chance_lessens_what_many_keys_make) {
  const SoftmaxProblem p = row_of(std::vector<float>(4096, 1.0F), 4096);
  const ElementBound y = compute_bound(p, of(Reduction::two_pass)).o[0];
  EXPECT_LT(y.probable, 0.2 * y.total());
  EXPECT_GT(y.probable, 0);
}

TEST(SoftmaxBound, what_is_not_covered_is_refused_by_name) {
  const auto refused = [](Arithmetic a, const char* name) {
    try {
      compute_bound(row_of({1, 2}, 1), a);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what()).find(name) != std::string::npos;
    }
    return false;
  };
  Arithmetic a = of(Reduction::two_pass);
  a.unit = ScoreUnit::raw;
  EXPECT_TRUE(refused(a, "unit"));
  a = of(Reduction::two_pass);
  a.warps = 3;
  EXPECT_TRUE(refused(a, "warps"));
  a = of(Reduction::two_pass);
  a.lse_form = LseForm::base2;
  EXPECT_TRUE(refused(a, "lse_form"));
  a = of(Reduction::two_pass);
  a.weights.format = Format::f16;
  EXPECT_TRUE(refused(a, "weights"));
  EXPECT_TRUE(refused(of(Reduction::chunk_states), "merge_weights"));
  EXPECT_TRUE(refused(of(Reduction::flat), "reduction"));
  a = of(Reduction::two_pass);
  a.reciprocal_error = -1;
  EXPECT_TRUE(refused(a, "reciprocal_error"));
}

TEST(SoftmaxBound, the_error_of_the_constant_is_no_keys_own) {
  const std::vector<float> x = {40, 10, 39, 12};
  for (const Exponent exponent : {Exponent::scaled_exp2, Exponent::fused, Exponent::unfused}) {
    for (const Reduction reduction : {Reduction::two_pass, Reduction::chunked_online, Reduction::strided_online,
                                      Reduction::chunk_states, Reduction::unshifted}) {
      Arithmetic a = of(reduction, exponent);
      a.merge_weights = MergeWeights::max_sum;
      const SoftmaxRow row = softmax_row(row_of(x, 2), a, {x.begin(), x.end()});
      const double gap = reduction == Reduction::unshifted ? 10 : 30;
      EXPECT_GE(row.constant[1], 1.33e-8 * gap);
      EXPECT_LT(row.constant[1], 1.35e-8 * gap * 1.01);
      EXPECT_LE(row.model.leaves.own[1], row.own[1] - 1.33e-8 * gap);
      EXPECT_GT(row.model.leaves.own[1], row.own[1] / 2) << "most of it is";
      EXPECT_GT(row.constant_mean, 0);
    }
  }
  const SoftmaxRow accurate = softmax_row(row_of(x, 2), of(Reduction::two_pass), {x.begin(), x.end()});
  EXPECT_EQ(accurate.constant_mean, 0) << "no constant in it";
}

TEST(SoftmaxBound, chance_does_not_lessen_the_error_of_the_constant) {
  // 2^17 keys at one distance from the maximum, which is half of the sum: each exponential's own error averages out.
  constexpr int kKeys = 1 << 17;
  std::vector<float> x(kKeys, -11.75F);
  x[0] = 0;
  Arithmetic a = of(Reduction::two_pass, Exponent::scaled_exp2);
  a.exp_error = a.log_error = 0;
  a.lanes = 1024;
  const SoftmaxRow row = softmax_row(row_of(x, kKeys), a, {x.begin(), x.end()});
  EXPECT_GE(row.weights.coherent, 0.5 * 1.33e-8 * 11.75) << "half the sum moves as one";
}

}  // namespace
}  // namespace flashproof::bound
