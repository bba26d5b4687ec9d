#include "reference/bound/declare/arithmetic_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/bound/alternatives.h"
#include "reference/bound/declare/presets.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text, ProblemKind problem = ProblemKind::attention, Format inputs = Format::f16) {
  try {
    parse_arithmetic(text, problem, inputs);
  } catch (const UsageError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "accepted";
}

TEST(ArithmeticJson, every_preset_returns_from_its_text) {
  for (const ProblemKind problem : {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention}) {
    for (const ArithmeticPreset& preset : arithmetic_presets(problem)) {
      for (const Format format : kAllFormats) {
        if (!preset_takes(preset.name, problem, format)) continue;
        const Arithmetic a = parse_arithmetic(preset.name, problem, format);
        EXPECT_EQ(parse_arithmetic(arithmetic_json(a), problem, format), a) << preset.name;
        EXPECT_FALSE(preset.text.empty());
      }
    }
  }
}

TEST(ArithmeticJson, every_published_build_returns_from_its_text) {
  for (const presets::Preset& preset : presets::kPresets) {
    EXPECT_EQ(parse_arithmetic(arithmetic_json(preset.arithmetic), preset.problem, preset.inputs), preset.arithmetic)
        << preset.name;
  }
}

TEST(ArithmeticJson, fields_replace_those_of_the_preset_and_no_others) {
  Arithmetic expected = parse_arithmetic("fa2_sm80", ProblemKind::attention, Format::f16);
  expected.block = 128;
  expected.visits = BlockOrder::descending;
  expected.values.unit = kHopperF16;
  expected.dot.unit.f = 23;
  expected.exp_error = 0.25;
  EXPECT_EQ(parse_arithmetic(R"({"block": 128, "visits": "descending", "exp_error": 0.25, "preset": "fa2_sm80",
                                "values": {"unit": "hopper_f16"}, "dot": {"unit": {"f": 23}}})",
                             ProblemKind::attention, Format::f16),
            expected);
}

TEST(ArithmeticJson, fields_alone_start_from_the_defaults) {
  EXPECT_EQ(parse_arithmetic(R"({"reduction": "flat", "merge_weights": "shifted"})", ProblemKind::merge, Format::f32),
            (Arithmetic{.reduction = Reduction::flat, .merge_weights = MergeWeights::shifted}));
  EXPECT_THAT(refusal("{}"), HasSubstr("reduction: missing"));
}

TEST(ArithmeticJson, a_function_of_the_columns_is_written_as_its_value) {
  Arithmetic a = presets::kPytorchSoftmax;
  a.lanes = 0;
  a.warps = 1;
  a.lanes_of = [](std::int64_t columns) { return columns > 100 ? 64 : 32; };
  EXPECT_EQ(parse_arithmetic(arithmetic_json(a, 200), ProblemKind::softmax, Format::f32).lanes, 64);
  EXPECT_THROW(arithmetic_json(a), UsageError);
}

TEST(ArithmeticJson, refusals_name_the_field_and_what_is_legal) {
  EXPECT_THAT(refusal("fa2_sm8"), HasSubstr("did you mean fa2_sm80 or fa3_sm90?"));
  EXPECT_THAT(refusal("vllm_merge"), HasSubstr("legal: fa2_sm80, fa3_sm90"));
  EXPECT_THAT(refusal("fa2_sm80", ProblemKind::attention, Format::f32), HasSubstr("inputs are f32, legal: f16, bf16"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exp_eror": 0})"), HasSubstr("did you mean exp_error?"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "dot": {"chain": 4}})"), HasSubstr("dot: no field \"chain\""));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exponent": "fusd"})"), HasSubstr("did you mean fused"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exp_error": 0.5})"),
              HasSubstr("exp_error: legal: a number x, 0 <= x < 0.5"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exp_error": -1e-9})"), HasSubstr("exp_error"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lanes": 3})"), HasSubstr("lanes: a power of two"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lanes": 8192})"), HasSubstr("lanes: legal: an integer in 0..4096"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lanes": 4.0})"), HasSubstr("lanes: legal: an integer"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lanes": 1e30})"), HasSubstr("lanes: legal: an integer"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lanes": 18446744073709551615})"), HasSubstr("lanes: legal"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lanes": true})"), HasSubstr("lanes: legal"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "dot": {"unit": "hoper_f16"}})"), HasSubstr("did you mean hopper_f16"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "dot": {"unit": {"k": 99}}})"), HasSubstr("dot.unit.k: legal"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "dot": 4})"), HasSubstr("dot: legal: an object"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "weights": {"scale": 3}})"),
              HasSubstr("weights.scale: a power of two"));
  EXPECT_THAT(refusal(R"({"preset": 7})"), HasSubstr("preset: legal: a name"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "visits": "plan"})"),
              HasSubstr("visits: ascending, descending or any"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "block": 12})"), HasSubstr("block: a multiple of"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "reduction": "row_resident"})"),
              HasSubstr("running_lanes: false but for chunk_deferred"));
  EXPECT_THAT(refusal(R"({"preset": "pytorch_math", "block": 64, "visits": "any"})"), HasSubstr("visits no chunks"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "reduction": "flat"})"), HasSubstr("reduction: attention takes"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lse_form": "max_plus_log"})"), HasSubstr("lse_form: raw scores take"));
}

TEST(ArithmeticJson, hostile_texts_are_usage_errors) {
  EXPECT_THAT(refusal(""), HasSubstr("preset \"\""));
  EXPECT_THAT(refusal(std::string(1 << 17, 'a')), HasSubstr("at most 65536 bytes"));
  EXPECT_THAT(refusal(std::string("fa2\n\x1b[31m")), HasSubstr("\\x1b"));
  EXPECT_THAT(refusal("{" + std::string(60000, '[')), HasSubstr("no JSON"));
  EXPECT_THAT(refusal(R"({"dot": )" + std::string(60000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(R"({"dot": {"unit": {"k": {"k": {}}}}})"), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exp_error": NaN})"),
              HasSubstr("no JSON at line 1, column 37 (byte 37 of 40): legal: a preset's name"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exp_error": 1e999})"), HasSubstr("arithmetic: a number is beyond"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exp_error": "nan"})"), HasSubstr("exp_error: legal"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "exp_error": null})"), HasSubstr("exp_error: legal"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "lanes": 4, "lanes": 8})"),
              HasSubstr("\"lanes\" is there twice in one object"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "dot": {"chains": 4, "chains": 8}})"),
              HasSubstr("\"chains\" is there twice in one object"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80"} {})"), HasSubstr("no JSON at line 1, column 24 "));
  EXPECT_THAT(refusal("{\"\xff\": 1}"), HasSubstr("no JSON"));
  EXPECT_THAT(refusal(R"({"preset": "fa2_sm80", "\u0000\n": 1})"), HasSubstr("no field"));
}

}  // namespace
}  // namespace flashproof
