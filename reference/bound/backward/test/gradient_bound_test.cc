// Published kernels' gradients: what each preset declares, executed, stays inside its bound; what does more does not.
#include "reference/bound/backward/gradient_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/backward/test/attack.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};

/// Gradient mode; o and lse are what an ideal forward pass stores in the format of q.
BackwardProblem gradient(Random& random, Format format) {
  BackwardProblem p = test::random_backward(random, format);
  p.mode = BackwardMode::gradient;
  test::fill_forward(p, format);
  return p;
}

struct Count {
  std::int64_t elements = 0, violations = 0;
};

/// Finite elements of rows in the domain, and those of them beyond the bound.
Count judged(const BackwardProblem& p, const BackwardArithmetic& executed, const Bound& bound, Random& random) {
  constexpr Lean kLeans[] = {Lean::nearest, Lean::up, Lean::down, Lean::extreme};
  const UnroundedGradients g =
      run_backward_model(p, executed, {.lean = kLeans[random.integer(0, 3)], .seed = random.next_u64()});
  const Truth truth = backward_truth(p, p.forward.q.format);
  Count count;
  const auto add = [&](const Balls& exact, const std::vector<double>& computed, const std::vector<ElementBound>& bounds,
                       const std::vector<RowDomain>& rows) {
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (exact[i].classes != kFinite || !rows[i / (bounds.size() / rows.size())].holds()) continue;
      ++count.elements;
      const double error = std::fabs(computed[i] - exact[i].hi - exact[i].lo) - exact[i].radius;
      count.violations += error <= bounds[i].total() ? 0 : 1;
    }
  };
  add(truth.dq, g.dq, bound.dq, bound.query_domain);
  add(truth.dk, g.dk, bound.dk, bound.key_domain);
  add(truth.dv, g.dv, bound.dv, bound.key_domain);
  return count;
}

/// `change` is done to what is executed, not to what is declared.
Count judged(const char* preset, Format format, int problems, void (*change)(BackwardArithmetic&)) {
  Count total;
  for (int n = 0; n < problems; ++n) {
    Random random(31, static_cast<std::uint64_t>(n));
    const BackwardProblem p = gradient(random, format);
    const GradientArithmetic declared = gradient_preset(preset, format);
    if (!gradient_refused(p, declared).empty()) continue;
    BackwardArithmetic executed = declared.backward.front();
    change(executed);
    const Count one = judged(p, executed, gradient_bound(p, declared), random);
    total.elements += one.elements;
    total.violations += one.violations;
  }
  return total;
}

TEST(GradientBound, every_alternative_of_every_preset_stays_inside) {
  for (const ArithmeticPreset& preset : gradient_presets()) {
    for (const Format format : kFormats) {
      if (!preset_takes(preset.name, ProblemKind::attention, format)) continue;
      const GradientArithmetic declared = gradient_preset(preset.name, format);
      std::int64_t elements = 0;
      for (int n = 0; n < 12; ++n) {
        Random random(30, static_cast<std::uint64_t>(n));
        const BackwardProblem p = gradient(random, format);
        if (!gradient_refused(p, declared).empty()) continue;
        const Bound bound = gradient_bound(p, declared);
        const bool biased = p.forward.has_bias() || p.forward.has_alibi();
        for (const BackwardArithmetic& executed : declared.backward) {
          if (executed.unit == ScoreUnit::raw && (biased || !(p.forward.scale > 0))) continue;
          const Count one = judged(p, executed, bound, random);
          EXPECT_EQ(one.violations, 0) << preset.name << " " << info(format).name << " " << n;
          elements += one.elements;
        }
      }
      EXPECT_GT(elements, 200) << preset.name << " " << info(format).name;
    }
  }
}

TEST(GradientBound, a_kernel_that_rounds_more_than_it_declares_is_caught) {
  EXPECT_EQ(judged("fa2_sm80", Format::f16, 20, [](BackwardArithmetic&) {}).violations, 0);
  EXPECT_GT(judged("fa2_sm80", Format::f16, 20, [](BackwardArithmetic& a) { a.p = Format::bf16; }).violations, 0);
  EXPECT_GT(judged("fa2_sm80", Format::f16, 20, [](BackwardArithmetic& a) { a.ds = Format::bf16; }).violations, 0);
  EXPECT_GT(judged("pytorch_math", Format::f32, 20, [](BackwardArithmetic& a) { a.dp = Format::bf16; }).violations, 0);
  EXPECT_GT(judged("pytorch_math", Format::f32, 20, [](BackwardArithmetic& a) { a.ds = Format::f16; }).violations, 0);
  EXPECT_GT(judged("jax_xla", Format::f16, 20, [](BackwardArithmetic& a) { a.dp = Format::bf16; }).violations, 0);
  EXPECT_GT(
      judged("pytorch_math", Format::f32, 20, [](BackwardArithmetic& a) { a.stored_weights = true, a.p = Format::f16; })
          .violations,
      0);
}

TEST(GradientBound, a_dp_beyond_its_format_leaves_the_whole_row_without_a_domain_where_d_is_made_of_it) {
  Random random(33, 1);
  BackwardProblem p = gradient(random, Format::f16);
  while (p.forward.k_length() < 2 || p.query_rows() < 1 || p.forward.causal || p.forward.has_bias())
    p = gradient(random, Format::f16);
  const auto fails = [&](const char* name) {
    const Bound bound = gradient_bound(p, gradient_preset(name, Format::f16));
    return !bound.query_domain.front().holds();
  };
  EXPECT_FALSE(fails("jax_xla"));
  for (std::int64_t c = 0; c < p.forward.value_dim(); ++c) {  // |dP| of the first key is about 2^17
    p.d_out.set({0, 0, 0, c}, 0x1p8);
    p.forward.v.set({0, 0, 0, c}, 0x1p9);
  }
  EXPECT_TRUE(fails("jax_xla"));        // dP in f16
  EXPECT_FALSE(fails("pytorch_math"));  // in f32
}

TEST(GradientBound, unknown_is_the_widest) {
  for (int n = 0; n < 8; ++n) {
    Random random(32, static_cast<std::uint64_t>(n));
    const BackwardProblem p = gradient(random, Format::f16);
    const Bound widest = gradient_bound(p, gradient_preset("unknown", Format::f16));
    for (const char* name : {"fa2_sm80", "pytorch_math", "pytorch_efficient", "cudnn", "jax_xla"}) {
      const GradientArithmetic declared = gradient_preset(name, Format::f16);
      if (!gradient_refused(p, declared).empty()) continue;
      const Bound bound = gradient_bound(p, declared);
      for (const auto part : {&Bound::dq, &Bound::dk, &Bound::dv}) {
        for (std::size_t i = 0; i < (bound.*part).size(); ++i) {
          EXPECT_LE((bound.*part)[i].total(), (widest.*part)[i].total() * (1 + 0x1p-12)) << name << " " << n;
        }
      }
    }
  }
}

TEST(GradientBound, names_and_formats_are_refused_by_name) {
  const auto said = [](const char* name, Format format) -> std::string {
    try {
      gradient_preset(name, format);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(said("fa2_sm8", Format::f16).find("did you mean fa2_sm80"), std::string::npos);
  EXPECT_NE(said("fa2_sm80", Format::f32).find("legal: f16, bf16"), std::string::npos);
  EXPECT_NE(said("unknown", Format::e4m3fn).find("legal: f32, f16, bf16"), std::string::npos);
}

/// What a run that one backward pass explains suggests: text that means this one and no other.
TEST(GradientBound, what_declares_one_of_several_means_that_one_alone) {
  for (const Format inputs : {Format::f32, Format::f16, Format::bf16}) {
    for (const BackwardArithmetic& one :
         parse_backward_arithmetic(R"({"preset": "unknown", "exp_error": 0.01})", inputs)) {
      const std::string text = "{" + declaring_members(one, inputs) + "}";
      EXPECT_LT(text.size(), 100U) << text;
      for (const BackwardArithmetic& meant : parse_backward_arithmetic(text, inputs)) EXPECT_EQ(meant, one) << text;
    }
  }
  // And of both passes in one call, what sums D from P of its own among them.
  for (const BackwardArithmetic& one : parse_gradient_arithmetic("unknown", Format::bf16).backward) {
    const std::string text = "{" + declaring_members(one, Format::bf16) + "}";
    const std::vector<BackwardArithmetic> meant = parse_gradient_arithmetic(text, Format::bf16).backward;
    EXPECT_EQ(meant, std::vector{one}) << text;
  }
  EXPECT_EQ(declaring_members(gradient_preset("pytorch_math", Format::f32).backward.front(), Format::f32),
            R"("preset": "pytorch_math")");
}

}  // namespace
}  // namespace flashproof
