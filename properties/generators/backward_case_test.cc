// Cases of the gradient: pure functions of their line, with the errors of o and lse that the bound is told.
#include "properties/generators/backward_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "properties/generators/backward_variant.h"
#include "properties/generators/family.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

Case from(const std::string& line) { return make_case(parse_case_spec(line)); }
const BackwardProblem& gradient(const Case& c) { return std::get<BackwardProblem>(c.problem); }
BackwardProblem problem_from(const std::string& line) { return gradient(from(line)); }

TEST(GradientCase, is_a_valid_pure_function_of_its_line) {
  for (const Family& family : families()) {
    if (!family.serves(ProblemKind::attention)) continue;
    for (const char* keys : {":0:format=f16", ":1:format=bf16"}) {
      const std::string line = "attention_backward:" + std::string(family.name) + keys;
      Case first;
      try {
        first = from(line);
      } catch (const UsageError&) {
        continue;  // the family has a feature without a gradient
      }
      EXPECT_NO_THROW(validate(first.problem)) << line;
      EXPECT_EQ(first, from(line)) << line;
      EXPECT_EQ(to_string(first.spec), line);
      CaseSpec forward = first.spec;
      forward.problem = ProblemKind::attention;
      EXPECT_EQ(gradient(first).forward, std::get<AttentionProblem>(make_case(forward).problem)) << line;
    }
  }
}

TEST(GradientCase, the_seed_or_a_key_chooses_the_mode) {
  EXPECT_EQ(problem_from("attention_backward:normal:4").mode, BackwardMode::stage);
  EXPECT_EQ(problem_from("attention_backward:normal:5").mode, BackwardMode::gradient);
  const Case chosen = from("attention_backward:normal:4:mode=gradient");
  EXPECT_EQ(gradient(chosen).mode, BackwardMode::gradient);
  EXPECT_EQ(gradient(chosen).d_out, problem_from("attention_backward:normal:4").d_out);
  EXPECT_THROW(from("attention_backward:normal:4:mode=both"), UsageError);
  EXPECT_THROW(from("attention_backward:normal:4:nonsense=1"), UsageError);
  EXPECT_THROW(from("attention_backward:nonsense:4"), UsageError);
}

TEST(GradientCase, the_errors_of_o_and_lse_are_those_of_their_rounding) {
  EXPECT_TRUE(forward_errors(problem_from("attention_backward:normal:2:format=bf16")).o.empty());
  BackwardProblem p = problem_from("attention_backward:normal:3:format=bf16");
  const ForwardErrors errors = forward_errors(p);
  ASSERT_EQ(errors.lse.size(), static_cast<std::size_t>(p.query_rows()));
  ASSERT_EQ(errors.o.size(), static_cast<std::size_t>(p.query_rows() * p.forward.value_dim()));
  double most = 0;
  std::size_t n = 0;
  for (std::int64_t b = 0; b < p.forward.batch(); ++b) {
    for (std::int64_t h = 0; h < p.forward.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.forward.q_length(); ++i) {
        for (std::int64_t c = 0; c < p.forward.value_dim(); ++c, ++n) {
          const double o = std::fabs(p.o.at({b, h, i, c}));
          EXPECT_LE(errors.o[n], o * 0x1.01p-8 + 0x1p-133);
          if (o > 0) most = std::max(most, errors.o[n] / o);
        }
      }
    }
  }
  EXPECT_GT(most, 0x1p-11) << "bf16 rounds by more than this somewhere";
  // What another forward kernel left is measured, too.
  p.lse.set({0, 0, 0}, p.lse.at({0, 0, 0}) + 0.25);
  EXPECT_NEAR(forward_errors(p).lse[0], 0.25, 1e-5);
  p.lse.set({0, 0, 0}, INFINITY);
  EXPECT_EQ(forward_errors(p).lse[0], INFINITY);
}

// The coverage table that CI holds: every two levels of two dimensions in one variant, and every variant is a case.
TEST(GradientVariant, every_two_levels_stand_together) {
  const auto& dimensions = variant_dimensions();
  std::set<std::vector<std::size_t>> seen;
  for (int variant = 1; variant <= gradient_variants(); ++variant) {
    const std::vector<int>& row = variant_levels(variant);
    ASSERT_EQ(row.size(), dimensions.size());
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        seen.insert({a, b, static_cast<std::size_t>(row[a]), static_cast<std::size_t>(row[b])});
      }
    }
  }
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < dimensions.size(); ++a) {
    for (std::size_t b = a + 1; b < dimensions.size(); ++b) {
      pairs += dimensions[a].levels.size() * dimensions[b].levels.size();
    }
  }
  EXPECT_EQ(seen.size(), pairs);
  RecordProperty("variants", gradient_variants());
  RecordProperty("pairs", static_cast<int>(pairs));
  EXPECT_LE(gradient_variants(), 120);
}

TEST(GradientVariant, is_a_valid_case_with_the_shape_and_features_that_it_names) {
  std::set<std::string> features;
  for (int variant = 1; variant <= gradient_variants(); variant += 3) {
    const std::string line =
        "attention_backward:normal:" + std::to_string(variant) + ":format=f16,variant=" + std::to_string(variant);
    const Case c = from(line);
    EXPECT_NO_THROW(validate(c.problem)) << line;
    EXPECT_EQ(c, from(line)) << line;
    EXPECT_EQ(to_string(c.spec), line);
    const AttentionProblem& f = gradient(c).forward;
    const auto keys = variant_keys(variant);
    EXPECT_EQ(std::to_string(f.q_heads()) + ":" + std::to_string(f.k_heads()), keys.at("hq") + ":" + keys.at("hk"))
        << line;
    EXPECT_EQ(std::to_string(f.q_length()), keys.at("sq"));
    EXPECT_EQ(std::to_string(f.value_dim()), keys.at("dv"));
    if (f.has_bias()) features.insert("bias");
    if (f.has_alibi()) features.insert("alibi");
    if (!f.key_length.empty()) features.insert("lengths");
    if (f.window_left >= 0) features.insert("left");
    if (f.window_right >= 0) features.insert("right");
    if (gradient(c).o.format != f.q.format) features.insert("o");
    if (gradient(c).lse.stride[1] == 1 && f.q_heads() > 1) features.insert("lse");
  }
  EXPECT_EQ(features.size(), 7U);
}

TEST(GradientVariant, a_key_beats_it_and_a_wrong_one_is_refused) {
  EXPECT_EQ(problem_from("attention_backward:normal:1:sq=5,variant=2").forward.q_length(), 5);
  for (const char* wrong : {"0", "-1", "x", "1000000", ""}) {
    EXPECT_THROW(from(std::string("attention_backward:normal:1:variant=") + wrong), UsageError) << wrong;
  }
}

TEST(GradientCase, special_values_reach_d_out) {
  int special = 0;
  for (int seed = 0; seed < 12; ++seed) {
    const Tensor d_out = problem_from("attention_backward:special_values:" + std::to_string(seed)).d_out;
    const auto bytes = dense_bytes(d_out);
    const Tensor dense = tensor_from_dense(d_out.format, d_out.shape, dense_stride(d_out.shape),
                                           static_cast<std::int64_t>(bytes.size()), bytes);
    for (std::int64_t i = 0; i < dense.elements(); ++i) {
      special += std::isfinite(decode(dense.format, dense.bits(i))) ? 0 : 1;
    }
  }
  EXPECT_GT(special, 3);
}

}  // namespace
}  // namespace flashproof
