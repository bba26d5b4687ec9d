// reference<Real> on the features of attention, where the answer is known in closed form; and the accessors of the
// problem, which every tier uses, against the reference, which does not.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/reference_error.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

constexpr double kU = 0x1p-53;

/// One head, d = dv = 1, scale 1; q is all x, k is all 1, so that every dot is x; v_j = 2^j.
AttentionProblem of_dots(double x, std::int64_t sq, std::int64_t sk) {
  AttentionProblem p = test::attention(
      Format::f32, {.sq = sq, .sk = sk, .d = 1, .dv = 1}, [x] { return x; }, [] { return 1.0; }, [] { return 1.0; });
  for (std::int64_t j = 0; j < sk; ++j) p.v.set({0, 0, j, 0}, std::ldexp(1.0, static_cast<int>(j)));
  p.scale = 1.0F;
  return p;
}

Tensor numbers(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  std::size_t n = 0;
  return test::filled(Format::f32, std::move(shape), [&] { return values[n++]; });
}

TEST(ReferenceFeatures, SoftcapIsTanh) {
  for (const double x : {0.0, 1e-6, 0.5, -0.5, 30.0, -29.0, 200.0, -700.0, 1e38, -1e38}) {
    for (const float cap : {30.0F, 50.0F, 0.001F, 1e30F}) {
      AttentionProblem p = of_dots(x, 1, 1);
      p.softcap = cap;
      const double exact = cap * std::tanh(static_cast<float>(x) / static_cast<double>(cap));
      // lse of one key is its score. C = (2·functions + 5) u c with exp within 2u, and 4u for glibc's tanh and product.
      EXPECT_LE(std::fabs(reference<double>(p).lse[0] - exact), 13 * kU * cap) << x << ' ' << cap;
    }
  }
  AttentionProblem p = of_dots(1e38, 1, 1);
  p.scale = 1e38F;
  p.softcap = 30.0F;
  EXPECT_EQ(reference<double>(p).lse[0], 30.0);
  p.scale = -1e38F;
  EXPECT_EQ(reference<double>(p).lse[0], -30.0);
}

TEST(ReferenceFeatures, SoftcapComesBeforeBiasAndAlibi) {
  AttentionProblem p = of_dots(1e6, 1, 1);
  p.softcap = 8.0F;
  p.bias = numbers({1, 1, 1, 1}, {100.0});
  EXPECT_EQ(reference<double>(p).lse[0], 108.0);
  p = of_dots(-1e6, 2, 1);  // query 0 stands one before key 0, query 1 beside it
  p.softcap = 8.0F;
  p.alibi = numbers({1, 1}, {16.0});
  EXPECT_EQ(reference<double>(p).lse, (std::vector<double>{-24.0, -8.0}));
}

TEST(ReferenceFeatures, AlibiMultipliesTheAbsoluteDistance) {
  AttentionProblem p = of_dots(0.0, 3, 3);
  p.alibi = numbers({1, 1}, {1024.0});  // e^-1024 underflows to 0: each query sees the key beside it alone
  EXPECT_EQ(reference<double>(p).o, (std::vector<double>{1.0, 2.0, 4.0}));
  p.alibi = numbers({1, 1}, {-1024.0});  // and now the farthest; query 1 has two of them
  EXPECT_EQ(reference<double>(p).o, (std::vector<double>{4.0, 2.5, 1.0}));
  EXPECT_EQ(reference<double>(p).lse[0], 2048.0);
  AttentionProblem longer = of_dots(0.0, 1, 5);  // aligned bottom right
  longer.alibi = numbers({1, 1}, {1024.0});
  EXPECT_EQ(reference<double>(longer).o[0], 16.0);
}

TEST(ReferenceFeatures, AlibiIsPerSequenceAndHead) {
  AttentionProblem p = test::attention(
      Format::f32, {.batch = 2, .q_heads = 2, .sq = 1, .sk = 1, .d = 1, .dv = 1}, [] { return 0.0; },
      [] { return 0.0; }, [] { return 1.0; });
  p.q = Tensor::strided(Format::f32, {2, 2, 2, 1}, {0, 0, 0, 0});
  p.q.set({0, 0, 0, 0}, 0.0);  // query 0 stands one before the only key
  p.alibi = numbers({2, 2}, {1.0, 2.0, 3.0, 4.0});
  EXPECT_EQ(reference<double>(p).lse, (std::vector<double>{-1, 0, -2, 0, -3, 0, -4, 0}));
}

TEST(ReferenceFeatures, ASinkIsOneMoreKeyWithoutValue) {
  AttentionProblem p = of_dots(1.5, 1, 1);
  p.v.set({0, 0, 0, 0}, 3.0);
  p.sink = numbers({1}, {1.5});
  auto result = reference<double>(p);
  EXPECT_EQ(result.o[0], 1.5) << "half the weight is the sink's";
  EXPECT_EQ(result.lse[0], 1.5 + std::log(2.0));
  p.sink = numbers({1}, {-kInfinity});
  result = reference<double>(p);
  EXPECT_EQ(result.o[0], 3.0);
  EXPECT_EQ(result.lse[0], 1.5);
  p.key_length = {0};
  result = reference<double>(p);
  EXPECT_EQ(result.o[0], 0.0);
  EXPECT_EQ(result.lse[0], -kInfinity);
  p.sink = numbers({1}, {-7.25});
  result = reference<double>(p);
  EXPECT_EQ(result.o[0], 0.0) << "no visible key";
  EXPECT_EQ(result.lse[0], -7.25) << "the sink is all there is";
}

TEST(ReferenceFeatures, WindowsChooseKeys) {
  AttentionProblem p = of_dots(0.0, 2, 4);  // beside keys 2 and 3; o is the mean of the visible 2^j
  // Quotient, product and two sums of positive numbers: four roundings, which are four ulps at most.
  const auto expect = [&](double first, double second) {
    const std::vector<double> o = reference<double>(p).o;
    EXPECT_DOUBLE_EQ(o[0], first);
    EXPECT_DOUBLE_EQ(o[1], second);
  };
  p.window_left = 1;
  expect(14.0 / 3, 6.0);
  p.window_right = 0;
  expect(3.0, 6.0);
  p.causal = true;
  p.window_right = 3;
  expect(3.0, 6.0);
  p.causal = false;
  p.window_right = 0;
  p.window_left = -1;
  expect(7.0 / 3, 15.0 / 4);
  p.window_left = 0;
  expect(4.0, 8.0);
}

/// Attention by the accessors of the problem, in long double.
ReferenceResult<long double> by_accessors(const AttentionProblem& p) {
  const OutputShape shape = output_shape(p);
  ReferenceResult<long double> result{std::vector<long double>(shape.rows * shape.width, 7e77L),
                                      std::vector<long double>(shape.rows, 7e77L)};
  const auto element = [](const Tensor& t, std::int64_t offset, std::int64_t c) -> long double {
    return decode(t.format, t.bits(offset + c * t.stride[3]));
  };
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(s); ++i) {
        std::vector<long double> scores;
        std::vector<std::int64_t> keys;
        const AttentionProblem::Keys visible = p.visible_keys(s, i);
        for (std::int64_t j = visible.first; j < visible.last; ++j) {
          if (p.hidden_by_bias(s, h, i, j)) continue;
          long double score = 0;
          for (std::int64_t c = 0; c < p.head_dim(); ++c) {
            score += element(p.q, p.q_offset(s, h, i), c) * element(p.k, p.k_offset(s, p.kv_head(h), j), c);
          }
          const std::int64_t kv = p.kv_head(h);
          score *= static_cast<long double>(p.scale);
          score *= AttentionProblem::descale(p.q_descale, s, kv);
          score *= AttentionProblem::descale(p.k_descale, s, kv);
          if (p.has(Feature::softcap)) score = p.softcap * std::tanh(score / p.softcap);
          if (p.has_bias()) score += p.bias.at({s, h, i, j});
          const std::int64_t distance = std::abs(i + p.k_length(s) - p.q_length(s) - j);
          if (p.has_alibi()) score -= static_cast<long double>(p.alibi.at({s, h})) * distance;
          scores.push_back(score);
          keys.push_back(j);
        }
        if (p.has_sink() && p.sink.at({h}) != -kInfinity) scores.push_back(p.sink.at({h}));
        const ReferenceSoftmax<long double> softmax(scores);
        const std::int64_t row = p.output_row(s, h, i);
        result.lse[row] = softmax.lse;
        for (std::int64_t c = 0; c < p.value_dim(); ++c) {
          long double sum = 0;
          for (std::size_t n = 0; n < keys.size(); ++n) {
            sum += softmax.p[n] * element(p.v, p.v_offset(s, p.kv_head(h), keys[n]), c);
          }
          result.o[row * shape.width + c] = sum * AttentionProblem::descale(p.v_descale, s, p.kv_head(h));
        }
      }
    }
  }
  return result;
}

TEST(Accessors, MeanWhatTheReferenceMeans) {
  std::size_t elements = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Problem problem = test::random_problem(seed);
    const auto* p = std::get_if<AttentionProblem>(&problem);
    if (p == nullptr) continue;
    const ReferenceResult<long double> own = by_accessors(*p);
    const ReferenceResult<double> result = reference<double>(*p);
    const auto error = test::reference_error<double>(problem, 2 * kU, 2.0);  // which also covers long double's own
    ASSERT_TRUE(error.meaningful);
    for (std::size_t n = 0; n < own.o.size(); ++n) {
      ASSERT_LE(std::fabs(static_cast<double>(own.o[n] - result.o[n])), error.o) << seed << ' ' << n;
    }
    for (std::size_t n = 0; n < own.lse.size(); ++n) {
      if (static_cast<double>(own.lse[n]) == result.lse[n]) continue;  // −inf among others
      ASSERT_LE(std::fabs(static_cast<double>(own.lse[n] - result.lse[n])), error.lse) << seed << ' ' << n;
    }
    elements += own.o.size();
  }
  EXPECT_GE(elements, 10000U);
}

}  // namespace
}  // namespace flashproof
