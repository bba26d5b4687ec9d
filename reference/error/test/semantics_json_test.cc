#include "reference/error/semantics/semantics_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reference/system/error.h"

namespace flashproof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& json, ProblemKind problem = ProblemKind::attention) {
  try {
    parse_semantics(json, problem);
  } catch (const UsageError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "accepted";
}

TEST(SemanticsJson, every_value_of_every_field_returns_from_its_text) {
  for (const ProblemKind problem : kForwardKinds) {
    for (const SemanticsField& field : semantics_fields()) {
      for (std::size_t value = 0; value < field.legal.size(); ++value) {
        Semantics semantics;
        field.set(semantics, value);
        EXPECT_EQ(field.get(semantics), value);
        if (!is_legal(field, value, problem)) continue;
        EXPECT_EQ(parse_semantics(semantics_json(semantics, problem), problem), semantics) << field.name;
      }
    }
  }
  EXPECT_EQ(semantics_json({}, ProblemKind::attention), "{}");
}

TEST(SemanticsJson, every_preset_is_a_name_for_its_fields_and_says_where_it_is_from) {
  std::set<std::string_view> names;
  for (const SemanticsPreset& preset : semantics_presets()) {
    names.insert(preset.name);
    EXPECT_EQ(parse_semantics('"' + std::string(preset.name) + '"', preset.problem), preset.semantics);
    EXPECT_EQ(parse_semantics(semantics_json(preset.semantics, preset.problem), preset.problem), preset.semantics);
    EXPECT_GT(preset.source.size(), 40U) << preset.name;
    EXPECT_NE(preset.semantics, Semantics{}) << preset.name;
  }
  for (const char* name : {"torch-sdpa", "flash-attention-2", "flash-attention-3", "flashinfer", "cudnn",
                           "triton-tutorial", "vllm-merge", "jax"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(SemanticsJson, a_preset_may_be_changed_in_a_field) {
  const Semantics s =
      parse_semantics(R"({"diagonal": "top_left", "preset": "flash-attention-2"})", ProblemKind::attention);
  EXPECT_EQ(s.empty_lse, LseValue::plus_infinity);
  EXPECT_EQ(s.diagonal, Diagonal::top_left);
}

TEST(SemanticsJson, what_is_wrong_is_named_with_what_is_legal) {
  EXPECT_THAT(refusal(R"("flash-attention")"),
              HasSubstr(R"(unknown preset "flash-attention"; near: flash-attention-2)"));
  EXPECT_THAT(refusal(R"("flash-attention-2")", ProblemKind::softmax),
              HasSubstr(R"(preset "flash-attention-2": there is none of softmax)"));
  EXPECT_THAT(refusal(R"({"lse_base": "10"})"), HasSubstr(R"(lse_base: "10"; legal: e, 2)"));
  EXPECT_THAT(refusal(R"({"lse_base": 2})"), HasSubstr("lse_base: legal: a text"));
  EXPECT_THAT(refusal(R"({"empty": "nan"})"), HasSubstr(R"(unknown field "empty"; near: empty_o)"));
  EXPECT_THAT(refusal(R"({"empty_o": "mean"})", ProblemKind::softmax), HasSubstr("legal: zero, nan, any"));
  EXPECT_THAT(refusal(R"({"diagonal": "top_left"})", ProblemKind::merge), HasSubstr(R"(unknown field "diagonal")"));
  EXPECT_THAT(refusal("[]"), HasSubstr("legal: the name of a preset, or an object"));
  EXPECT_THAT(refusal("{}", ProblemKind::backward), HasSubstr("legal of a gradient: nothing"));
}

TEST(SemanticsJson, words_say_each_difference) {
  EXPECT_THAT(
      semantics_words({.empty_o = EmptyOutput::any, .lse_base = LseBase::two}),
      ElementsAre("o of rows without keys is not judged", "the base of the logarithm lse, of merged states too is 2"));
}

}  // namespace
}  // namespace flashproof
