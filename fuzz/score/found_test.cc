// What campaigns found in hardened kernels, once each: the kernel passes, and what would hide a defect does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "fuzz/score/score.h"
#include "properties/generators/family.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

struct Found {
  const char* kernel;
  const char* line;
};
constexpr Found kForward[] = {
    // q·k·scale = 1.03e7: the kernel refused a frame inside the head-room of its declaration
    {"attention.mma_e4m3p_scaled.hardened", "attention:huge:1152921509119465216:format=f16,hk=2,layout=padded,sq=15"},
    // k has inf beside 3.4e38: a partial sum overflows and meets the other infinity, in rows without any weight
    {"attention.deferred.hardened",
     "attention:hidden_specials:7284572397279276902:b=3,causal=0,d=3,format=f32,hk=2,sk=2,sq=4"},
    {"attention.paged.hardened",
     "attention:hidden_specials:18446730879571067131:b=3,d=3,dv=7,format=bf16,hk=1,hq=3,layout=transposed,sq=4"}};
// lse = +inf beside scores beyond f32: inf − inf
constexpr Found kGradient = {"attention_backward.atomic_dq.hardened",
                             "attention_backward:huge:923417968642:causal=1,format=bf16,hq=7,scale=100"};

TEST(Found, forward_kernels_pass_what_fuzzing_found) {
  for (const auto& [id, line] : kForward) {
    const Score found = score(*find_kernel(id), make_case(parse_case_spec(line)), {});
    EXPECT_TRUE(found.ran) << line;
    EXPECT_FALSE(found.failed()) << id << " " << line << ": " << found.verdict.detail;
  }
}

TEST(Found, gradients_pass_what_fuzzing_found) {
  for (const Kernel& kernel : kernels_of(ProblemKind::backward)) {
    if (kernel.form != Form::hardened) continue;
    const Score found = score(kernel, make_case(parse_case_spec(kGradient.line)), {});
    EXPECT_FALSE(found.failed()) << kernel.id << ": " << found.verdict.detail;
    EXPECT_TRUE(found.ran || kernel.id != kGradient.kernel);
  }
}

/// One query, one key with an infinite product of the wrong sign for a weight beside a finite one.
AttentionProblem one_key(double q, double infinite, double finite) {
  AttentionProblem p = std::get<AttentionProblem>(
      make_case(parse_case_spec("attention:normal:1:b=1,hq=1,hk=1,sq=1,sk=1,d=2,dv=1,causal=0,format=f32,layout=dense"))
          .problem);
  p.key_length.clear();
  p.bias = {};
  for (std::int64_t c = 0; c < 2; ++c) p.q.set({0, 0, 0, c}, q);
  p.k.set({0, 0, 0, 0}, infinite);
  p.k.set({0, 0, 0, 1}, finite);
  return p;
}

/// As a kernel that answers NaN wherever nothing has a weight.
void launch_nan(const AttentionArgs& args, Stream) {
  static_cast<float*>(args.o)[0] = args.lse[0] = std::numeric_limits<float>::quiet_NaN();
}

TEST(Found, nan_in_a_row_without_a_weight_is_excused_only_where_a_sum_of_numbers_may_overflow) {
  Kernel nan = *find_kernel("attention.deferred.hardened");
  nan.launch = Launch(&launch_nan);
  const CaseSpec spec{ProblemKind::attention, "normal", 1, {}};
  EXPECT_FALSE(score(nan, {spec, one_key(2, -kInfinity, 3e38)}, {}).failed()) << "6e38 is beyond f32";
  EXPECT_EQ(score(nan, {spec, one_key(1, -kInfinity, 3e38)}, {}).what, "class_mismatch");
  EXPECT_EQ(score(nan, {spec, one_key(1, -kInfinity, 0)}, {}).what, "class_mismatch");
  AttentionProblem hidden = one_key(2, 1, 3e38);
  hidden.bias = Tensor::dense(Format::f32, {1, 1, 1, 1});
  hidden.bias.set({0, 0, 0, 0}, -kInfinity);
  EXPECT_EQ(score(nan, {spec, hidden}, {}).what, "class_mismatch") << "a mask forms no score";
}

// A flushed operand or a scale folded into raw scores loses a subnormal scale, and the bound is charged for it.
TEST(Found, gradients_of_a_subnormal_scale_run) {
  constexpr std::string_view kScales[] = {"1e-45", "1.17549421e-38", "1.17549435e-38"};  // the last: 2^-126
  for (const std::string_view scale : kScales) {
    const std::string line = "attention_backward:normal:3:scale=" + std::string(scale);
    const Case c = make_case(parse_case_spec(line));
    for (const Kernel& kernel : kernels_of(ProblemKind::backward)) {
      if (kernel.form != Form::hardened) continue;
      const Score found = score(kernel, c, {});
      EXPECT_FALSE(found.failed()) << kernel.id << " " << line << ": " << found.verdict.detail;
      EXPECT_TRUE(found.ran) << kernel.id << " " << line;
    }
  }
}

/// Two keys whose raw scores are 6e38 apart and whose scores, scaled by 2^-126, are 7: a difference before the scale
/// overflows, and the smaller key must not get lost in silence.
/// `in_domain`: the forms of raw scores that must answer.
void expect_no_key_lost(float scale, const std::vector<Exponent>& in_domain) {
  const CaseSpec spec = parse_case_spec(
      "attention:normal:1:b=1,hq=1,hk=1,sq=1,sk=2,d=1,dv=1,chunk=1,causal=0,format=bf16,layout=dense,order=forward");
  AttentionProblem p = std::get<AttentionProblem>(make_case(spec).problem);
  p.key_length.clear();
  p.bias = {};
  p.scale = scale;
  p.q.set({0, 0, 0, 0}, 1);
  int ran = 0;
  for (const double sign : {1.0, -1.0}) {
    for (const std::int64_t key : {0, 1}) {
      p.k.set({0, 0, key, 0}, sign * (key == 0 ? -3e38 : 3e38));
      p.v.set({0, 0, key, 0}, key == 0 ? 1000 : 1);
    }
    for (const Kernel& kernel : kernels()) {
      if (kernel.problem != ProblemKind::attention || kernel.form != Form::hardened) continue;
      const Score found = score(kernel, {spec, p}, {});
      EXPECT_FALSE(found.failed()) << kernel.id << ": " << found.verdict.detail;
      // With one key's weight 0, a kernel in its domain answers the other's value, and an element represents a term.
      if (found.ran && std::ranges::find(in_domain, kernel.arithmetic.exponent) != in_domain.end()) {
        EXPECT_FALSE(found.terms.empty()) << kernel.id << " " << scale;
      }
      ran += found.ran ? 1 : 0;
    }
  }
  EXPECT_GT(ran, 20);
}

TEST(Found, raw_scores_too_far_apart_for_f32_lose_no_key) {
  expect_no_key_lost(0x1p-126F, {});
  expect_no_key_lost(0x1p-121F, {});
}

TEST(Found, raw_scores_beyond_any_weight_are_no_reason_to_refuse) {
  expect_no_key_lost(0x1p-119F, {Exponent::fused, Exponent::subtract_then_scale});
  expect_no_key_lost(0.5F, {Exponent::subtract_then_scale});
}

}  // namespace
}  // namespace flashproof
