// Cases of the gradient: pure functions of their line, with the errors of o and lse that the bound is told.
#include "properties/generators/backward_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "properties/generators/family.h"
#include "reference/system/error.h"

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
      if (family.gradient != nullptr) continue;  // rows of its own
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

// What a row says of o, dO and lse is what generators_coverage_table_test holds; here that every row is a case, and what beats it.
TEST(GradientRows, are_valid_cases_and_a_key_beats_them) {
  for (const char* family : {"pairs", "sizes"}) {
    const std::string start = "attention_backward:" + std::string(family) + ":";
    for (std::uint64_t row = 0; row < find_family(family)->round(ProblemKind::backward); row += 5) {
      const std::string line = start + std::to_string(row) + ":format=f16";
      const Case c = from(line);
      EXPECT_NO_THROW(validate(c.problem)) << line;
      EXPECT_EQ(c, from(line)) << line;
    }
    EXPECT_EQ(problem_from(start + "2:sq=5").forward.q_length(), 5);
    for (const BackwardMode mode : {BackwardMode::stage, BackwardMode::gradient}) {
      EXPECT_EQ(problem_from(start + "2:mode=" + std::string(name(mode))).mode, mode);
    }
    EXPECT_THROW(from(start + "2:nonsense=1"), UsageError);
    EXPECT_THROW(from(start + "2:kv_format=e5m2"), UsageError);
  }
}

// Whether a round has an even or an odd number of rows.
TEST(GradientRows, come_in_either_mode) {
  for (const char* family : {"sizes", "model_sizes", "feature_pairs", "feature_edges"}) {
    const std::uint64_t rows = find_family(family)->round(ProblemKind::backward);
    const std::uint64_t turn = std::string_view(family) == "feature_pairs" ? 2 * rows : rows;
    for (std::uint64_t row = 0; row < 2; ++row) {
      const auto mode = [&](std::uint64_t seed) {
        return problem_from("attention_backward:" + std::string(family) + ":" + std::to_string(seed)).mode;
      };
      EXPECT_NE(mode(row), mode(row + turn)) << family;
      EXPECT_NE(mode(row), mode(row + 1)) << family;
    }
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
