// The model against the textbook in long double: no bound is used here, only that every form computes the right function,
// with errors of the size its declaration leads one to expect.
#include "reference/model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reference/bound/declare/presets.h"
#include "reference/model/attack/attack_problems.h"
#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// Largest |v| (or |o_c|, 1 for softmax) and |lse|: what errors are compared with.
struct Size {
  double o = 0, lse = 1;
};

void expect_near(const Problem& problem, const Arithmetic& arithmetic, const Roundings& roundings, double relative,
                 const std::string& what) {
  const Output output = run_model_unrounded(problem, arithmetic, roundings);
  const auto exact = visit_forward([](const auto& p) { return reference<long double>(p); }, problem);
  const OutputShape shape = output_shape(problem);
  Size size;
  for (const long double o : exact.o) size.o = std::max(size.o, std::fabs(static_cast<double>(o)));
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const auto lse = static_cast<double>(exact.lse[static_cast<std::size_t>(r)]);
    const double computed = output.lse.at({r});
    if (std::isfinite(lse)) {
      EXPECT_LE(std::fabs(computed - lse), relative * (2 + std::fabs(lse))) << what << " lse " << r;
    } else {
      EXPECT_EQ(computed, lse) << what << " lse " << r;
    }
    for (std::int64_t c = 0; c < shape.width; ++c) {
      const auto o = static_cast<double>(exact.o[static_cast<std::size_t>(r * shape.width + c)]);
      EXPECT_LE(std::fabs(output.o.at({r, c}) - o), relative * (size.o + 1)) << what << " o " << r << "," << c;
    }
    if (testing::Test::HasFailure()) return;
  }
}

/// Scores of a few units, so that no form amplifies: 2^-8 covers bf16 P twice over, 13-bit sums need 2^-5.
double expected_error(const Arithmetic& a) {
  const auto coarse = [](const Products& p) { return p.unit.k > 0 && p.unit.ofb < 23; };
  if (coarse(a.dot) || coarse(a.values) || a.weights.format == Format::e4m3fn) return 0x1p-3;
  const bool stored = a.weights.format != Format::f32 || a.dot.tf32_inputs || a.values.tf32_inputs ||
                      a.split.partial_o != Format::f32 || a.split.partial_lse != Format::f32 ||
                      a.lse_format != Format::f32 || a.query != Format::f32;
  return stored ? 0x1p-5 : 64 * a.exp_error + 0x1p-14;
}

TEST(Model, every_preset_computes_the_textbook_function) {
  for (const presets::Preset& preset : presets::kPresets) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Random random(seed, 5);
      const Problem problem = attack::mild(random, preset.problem, preset.inputs);
      for (const Lean lean : {Lean::nearest, Lean::up, Lean::down, Lean::aligned}) {
        expect_near(problem, preset.arithmetic, {.lean = lean, .seed = seed}, expected_error(preset.arithmetic),
                    preset.name);
      }
    }
  }
}

TEST(Model, every_random_declaration_computes_the_textbook_function) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed, 6);
    const auto kind = static_cast<ProblemKind>(random.integer(0, 2));
    const Format inputs = random.chance(0.5) ? Format::f32 : Format::f16;
    const Problem problem = attack::mild(random, kind, inputs);
    Arithmetic arithmetic = attack::declaration(random, problem);
    arithmetic.exp_error = arithmetic.log_error = arithmetic.reciprocal_error = arithmetic.log_absolute = 0x1p-22;
    expect_near(problem, arithmetic, {.lean = Lean::random, .seed = seed}, expected_error(arithmetic),
                "seed " + std::to_string(seed));
    if (HasFailure()) break;
  }
}

TEST(Model, the_features_of_attention_are_those_of_the_textbook) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, 7);
    const test::Mix mix{.causal = random.chance(0.3),
                        .lengths = random.chance(0.3),
                        .bias = random.chance(0.4),
                        .window = random.chance(0.4),
                        .softcap = random.chance(0.4),
                        .alibi = random.chance(0.4),
                        .sink = random.chance(0.4),
                        .packed = random.chance(0.3),
                        .paged = random.chance(0.3)};
    const AttentionProblem p = test::random_attention(random, Format::f32, mix, random.chance(0.5));
    Arithmetic natural{.reduction = Reduction::chunk_deferred,
                       .exp_error = 0x1p-23,
                       .log_error = 0x1p-23,
                       .tanh_error = 0x1p-23,
                       .lanes = 4};
    expect_near(p, natural, {}, 0x1p-12, "natural " + std::to_string(seed));
    natural.reduction = Reduction::chunk_normalized;
    expect_near(p, natural, {}, 0x1p-12, "normalized " + std::to_string(seed));
    natural.reduction = Reduction::row_resident;
    expect_near(p, natural, {}, 0x1p-12, "resident " + std::to_string(seed));
    Arithmetic raw = natural;
    raw.reduction = Reduction::chunk_deferred;
    raw.unit = ScoreUnit::raw;
    raw.exponent = Exponent::fused;
    raw.lse_form = LseForm::scaled_max_plus_log;
    raw.split = {.parts = 3};
    // A bias or slope divided by a small scale and multiplied back, tanh's error times the cap.
    if (p.scale > 0x1p-10F) expect_near(p, raw, {}, 0x1p-10, "raw " + std::to_string(seed));
    if (HasFailure()) break;
  }
}

AttentionProblem few_keys(std::int64_t keys, float q = 1.0F) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.k = Tensor::dense(Format::f32, {1, 1, keys, 1});
  p.v = Tensor::dense(Format::f32, {1, 1, keys, 1});
  p.q.set({0, 0, 0, 0}, q);
  for (std::int64_t j = 0; j < keys; ++j) {
    p.k.set({0, 0, j, 0}, 0.5 * static_cast<double>(j));
    p.v.set({0, 0, j, 0}, 3);
  }
  p.plan = ChunkPlan::uniform(keys, 2);
  return p;
}

std::vector<Arithmetic> attention_forms() {
  std::vector<Arithmetic> forms;
  for (const presets::Preset& preset : presets::kPresets) {
    if (preset.problem == ProblemKind::attention) forms.push_back(preset.arithmetic);
  }
  return forms;
}

TEST(Model, one_key_is_copied) {
  for (const Arithmetic& form : attention_forms()) {
    const Output output = run_model(few_keys(1), form);
    // A reciprocal of l = 1 may err as declared; P = 1 and its scale are exact in every format.
    EXPECT_NEAR(output.o.at({0, 0}), 3, 3 * 0x1p-20);
    EXPECT_EQ(output.lse.at({0}), 0);
  }
}

TEST(Model, a_row_without_a_key_is_zero_and_minus_infinity) {
  for (const Arithmetic& form : attention_forms()) {
    AttentionProblem p = few_keys(4);
    p.key_length = {0};
    Output output = run_model(p, form);
    EXPECT_EQ(output.o.at({0, 0}), 0);
    EXPECT_EQ(output.lse.at({0}), -HUGE_VAL);
    p.key_length.clear();
    p.bias = Tensor::dense(Format::f32, {1, 1, 1, 4});
    for (std::int64_t j = 0; j < 4; ++j) p.bias.set({0, 0, 0, j}, -HUGE_VAL);
    p.v.set({0, 0, 2, 0}, NAN);  // hidden keys are isolated
    output = run_model(p, form);
    EXPECT_EQ(output.o.at({0, 0}), 0);
    EXPECT_EQ(output.lse.at({0}), -HUGE_VAL);
    p.sink = Tensor::dense(Format::f32, {1});
    p.sink.set({0}, 0.75);
    output = run_model(p, form);
    EXPECT_EQ(output.o.at({0, 0}), 0);
    EXPECT_NEAR(output.lse.at({0}), 0.75, 1e-6);
  }
}

TEST(Model, nan_and_infinities_come_through_as_the_semantics_have_it) {
  for (const Arithmetic& form : attention_forms()) {
    AttentionProblem p = few_keys(5);
    p.k.set({0, 0, 3, 0}, NAN);
    Output output = run_model(p, form);
    EXPECT_TRUE(std::isnan(output.o.at({0, 0})) && std::isnan(output.lse.at({0})));
    p.k.set({0, 0, 3, 0}, HUGE_VAL);  // a score of +inf
    output = run_model(p, form);
    EXPECT_TRUE(std::isnan(output.o.at({0, 0})) && std::isnan(output.lse.at({0})));
    p.k.set({0, 0, 3, 0}, -HUGE_VAL);  // hidden
    p.v.set({0, 0, 3, 0}, NAN);
    output = run_model(p, form);
    EXPECT_NEAR(output.o.at({0, 0}), 3, 0.2);
    p.v.set({0, 0, 2, 0}, -HUGE_VAL);
    output = run_model(p, form);
    EXPECT_FALSE(std::isfinite(output.o.at({0, 0})));
    EXPECT_TRUE(std::isfinite(output.lse.at({0})));
  }
}

TEST(Model, a_finite_score_that_leaves_the_range_is_no_lost_key) {
  AttentionProblem p = few_keys(2, 0x1p100F);
  p.k.set({0, 0, 1, 0}, -0x1p100);
  const Arithmetic form{.reduction = Reduction::chunk_deferred, .exp_error = 0x1p-23, .log_error = 0x1p-23, .lanes = 1};
  EXPECT_TRUE(std::isnan(run_model(p, form).o.at({0, 0})));
}

TEST(Model, empty_states_of_a_merge_are_never_read) {
  for (const presets::Preset& preset : presets::kPresets) {
    if (preset.problem != ProblemKind::merge) continue;
    MergeProblem p;
    p.o = Tensor::dense(Format::f32, {3, 1, 1});
    p.lse = Tensor::dense(Format::f32, {3, 1});
    p.order = {0, 1, 2};
    for (std::int64_t c = 0; c < 3; ++c) {
      p.o.set({c, 0, 0}, NAN);
      p.lse.set({c, 0}, -HUGE_VAL);
    }
    Output output = run_model(p, preset.arithmetic);
    EXPECT_EQ(output.o.at({0, 0}), 0) << preset.name;
    EXPECT_EQ(output.lse.at({0}), -HUGE_VAL) << preset.name;
    p.o.set({1, 0, 0}, 5);
    p.lse.set({1, 0}, 7);
    output = run_model(p, preset.arithmetic);
    EXPECT_NEAR(output.o.at({0, 0}), 5, 1e-5) << preset.name;
    EXPECT_NEAR(output.lse.at({0}), 7, 1e-5) << preset.name;
    p.lse.set({2, 0}, NAN);
    output = run_model(p, preset.arithmetic);
    EXPECT_TRUE(std::isnan(output.o.at({0, 0})) && std::isnan(output.lse.at({0}))) << preset.name;
  }
}

TEST(Model, a_declaration_without_a_meaning_is_refused_by_the_field) {
  const auto message = [](const Problem& problem, const Arithmetic& arithmetic) -> std::string {
    try {
      require_runnable(problem, arithmetic);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  const Problem p = few_keys(4);
  Arithmetic a{.reduction = Reduction::chunk_deferred, .exp_error = 0x1p-23, .log_error = 0x1p-23, .lanes = 4};
  EXPECT_EQ(message(p, a), "");
  Arithmetic b = a;
  b.exp_error = 0;
  EXPECT_EQ(message(p, b).substr(0, 31), "declared arithmetic: exp_error:");
  b = a;
  b.lanes = 3;
  EXPECT_EQ(message(p, b), "declared arithmetic: lanes: a power of two, at most 4096");
  b = a;
  b.unit = ScoreUnit::raw;
  EXPECT_NE(message(p, b).find("unit: raw takes fused"), std::string::npos);
  b = a;
  b.weights.scale = 3;
  EXPECT_NE(message(p, b).find("weights.scale: a power of two"), std::string::npos);
  b = a;
  b.reduction = Reduction::flat;
  EXPECT_NE(message(p, b).find("reduction: attention takes"), std::string::npos);
}

}  // namespace
}  // namespace flashproof
