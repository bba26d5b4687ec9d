#include "kernels/plugin/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/plugin.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PluginEntry softmax(const std::string& description) {
  return {"softmax.row.mine", FLASHPROOF_SOFTMAX, FLASHPROOF_CPU, description};
}
PluginEntry attention(const std::string& description) {
  return {"attention.row.mine", FLASHPROOF_ATTENTION, FLASHPROOF_CUDA, description};
}

std::string refusal(const PluginEntry& entry) {
  try {
    describe(entry);
  } catch (const UsageError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "";
}
std::string refusal(const std::string& description) { return refusal(softmax(description)); }

AttentionProblem plain_attention(std::int64_t d) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f16, {1, 2, 3, d});
  p.k = p.v = Tensor::dense(Format::f16, {1, 2, 5, d});
  p.plan = ChunkPlan::uniform(5, 5);
  return p;
}

TEST(Description, says_what_a_kernel_is) {
  const Described d = describe(attention(
      R"({"formats": ["f16", "bf16"], "arithmetic": "fa2_sm80", "takes": ["causal", "softcap"], "limits": {"d": [8, 128, 8]},
          "returns": "o", "deterministic": true, "isolates_hidden": true, "overflow": "saturate"})"));
  EXPECT_EQ(d.problem, ProblemKind::attention);
  EXPECT_TRUE(d.on_device);
  EXPECT_THAT(d.formats, ElementsAre(Format::f16, Format::bf16));
  ASSERT_EQ(d.arithmetic.size(), 2U);
  EXPECT_EQ(d.arithmetic[0].weights.format, Format::f16);  // fa2 rounds P to the format of v
  EXPECT_EQ(d.arithmetic[1].weights.format, Format::bf16);
  EXPECT_EQ(d.contract.returns, Returns::o);
  EXPECT_EQ(d.contract.overflow, Overflow::saturate);
  EXPECT_TRUE(d.contract.deterministic && d.contract.isolates_hidden && !d.contract.refuses_beyond_range);
}

TEST(Description, promises_nothing_that_it_does_not_say) {
  const Contract c = describe(softmax(R"({"formats": ["f32"]})")).contract;
  EXPECT_FALSE(c.deterministic || c.isolates_hidden || c.refuses_beyond_range);
  EXPECT_EQ(c.returns, Returns::both);
  const Contract split =
      describe(softmax(R"({"formats": ["f32"], "deterministic": true, "batch_invariant": false})")).contract;
  EXPECT_TRUE(c.batch_invariant && split.deterministic && !split.batch_invariant);  // a part of what deterministic says
}

TEST(Description, a_problem_that_it_does_not_take_is_refused_by_name) {
  const Refusal refusal =
      describe(
          attention(
              R"({"formats": ["f16"], "takes": ["causal", "window"], "limits": {"d": [8, 128, 8]}, "isolates_hidden": true})"))
          .refusal;
  const auto why = [&](auto change) {
    AttentionProblem p = plain_attention(16);
    change(p);
    return refusal(p);
  };
  EXPECT_EQ(why([](AttentionProblem&) {}), "");
  EXPECT_EQ(why([](AttentionProblem& p) { p.causal = true, p.window_left = 2; }), "");
  EXPECT_THAT(why([](AttentionProblem& p) { p.softcap = 2; }), HasSubstr("softcap"));
  EXPECT_THAT(why([](AttentionProblem& p) { p.key_length = {3}; }), HasSubstr("key_length"));
  EXPECT_THAT(why([](AttentionProblem& p) { p.bias = Tensor::dense(Format::f32, {1, 2, 3, 5}); }), HasSubstr("bias"));
  EXPECT_THAT(why([](AttentionProblem& p) { p.k = p.v = Tensor::dense(Format::f16, {1, 1, 5, 16}); }),
              HasSubstr("gqa"));
  EXPECT_THAT(why([](AttentionProblem& p) { p = plain_attention(12); }),
              HasSubstr("d = 12: legal range 8..128, multiples of 8"));
  EXPECT_THAT(why([](AttentionProblem& p) { p = plain_attention(136); }), HasSubstr("d = 136"));
  EXPECT_THAT(why([](AttentionProblem& p) { p.q = Tensor::strided(Format::f16, {1, 2, 3, 16}, {200, 100, 32, 1}); }),
              HasSubstr("strides"));
}

TEST(Description, hidden_specials_are_for_who_promises_isolation) {
  AttentionProblem p = plain_attention(16);  // its elements start as NaN
  const char* takes = R"({"formats": ["f16"], "takes": ["causal"]})";
  EXPECT_EQ(describe(attention(takes)).refusal(p), "");
  p.causal = true;
  EXPECT_THAT(describe(attention(takes)).refusal(p), HasSubstr("isolates_hidden"));
  EXPECT_EQ(describe(attention(R"({"formats": ["f16"], "takes": ["causal"], "isolates_hidden": true})")).refusal(p),
            "");
}

TEST(Description, strides_dense_rows_any) {
  SoftmaxProblem p;
  p.x = Tensor::strided(Format::f32, {2, 3}, {5, 1});
  SoftmaxProblem q;
  q.x = Tensor::strided(Format::f32, {2, 3}, {1, 2});
  const auto refused = [](const char* strides, const SoftmaxProblem& problem) {
    return !describe(softmax(R"({"formats": ["f32"], "strides": ")" + std::string(strides) + "\"}"))
                .refusal(problem)
                .empty();
  };
  EXPECT_TRUE(refused("dense", p) && refused("dense", q) && refused("rows", q));
  EXPECT_FALSE(refused("rows", p) || refused("any", p) || refused("any", q));
}

TEST(Description, a_merge_that_cannot_reorder_or_concatenate) {
  const auto taken = [](const char* takes, const MergeProblem& p) {
    return describe({"merge.fold.mine", FLASHPROOF_MERGE, FLASHPROOF_CPU,
                     R"({"formats": ["f32"], "takes": [)" + std::string(takes) + "]}"})
        .refusal(p)
        .empty();
  };
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {2, 1, 1});
  p.lse = Tensor::dense(Format::f32, {2, 1});
  p.order = {1, 0};
  EXPECT_FALSE(taken("", p));
  EXPECT_TRUE(taken("\"order\"", p));
  p.order = {0, 1};
  EXPECT_TRUE(taken("", p));
  p.form = MergeForm::concat;
  EXPECT_FALSE(taken("\"order\"", p));
  EXPECT_TRUE(taken("\"concat\"", p));
}

TEST(Description, what_is_wrong_is_named_with_what_is_legal) {
  EXPECT_THAT(refusal("{"), HasSubstr("description: no JSON at its end, line 1, column 2 (1 bytes)"));
  EXPECT_THAT(refusal("{\n  \"formats\": f32\n}"), HasSubstr("no JSON at line 2, column 15 (byte 17 of 20)"));
  EXPECT_THAT(refusal("{\"formats\": \"\x1b[2J\"}"),
              AllOf(HasSubstr("no JSON at line 1, column 14 "), Not(HasSubstr("2J"))));
  EXPECT_THAT(refusal("{\"limits\": 1e999}"), HasSubstr("beyond the range of a double"));
  EXPECT_THAT(refusal("[]"), HasSubstr("object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("formats: legal: one or more of f32, f16, bf16"));
  EXPECT_THAT(refusal(R"({"formats": []})"), HasSubstr("formats"));
  EXPECT_THAT(refusal(R"({"formats": "f32"})"), HasSubstr("formats: legal: an array"));
  EXPECT_THAT(refusal(R"({"formats": ["fp32"]})"), HasSubstr("legal: f32, f16, bf16"));
  EXPECT_THAT(refusal(R"({"formats": [1]})"), HasSubstr("a text"));
  EXPECT_THAT(refusal(R"({"format": ["f32"]})"), HasSubstr("near: formats"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "takes": ["row_lenght"]})"), HasSubstr("near: row_length"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "deterministic": 1})"), HasSubstr("deterministic: legal: true or false"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "returns": "lsd"})"), HasSubstr("near: lse"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": {"cols": [1]}})"),
              HasSubstr("limits.cols: legal: [least, most]"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": {"cols": [2, 1]}})"), HasSubstr("least <= most"));
  for (const char* none : {"[65, 127, 64]", "[0, 63, 64]", "[0, 0]"}) {
    EXPECT_THAT(refusal(std::string(R"({"formats": ["f32"], "limits": {"cols": )") + none + "}}"),
                testing::ContainsRegex("limits.cols: [0-9.]+ holds no multiple of [0-9]+ above 0, legal: "))
        << none;
  }
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": {"cols": [1, 2, 0]}})"), HasSubstr("integers in 1.."));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": {"cols": [-1, 2]}})"), HasSubstr("integers in 0.."));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": {"cols": [1, 18446744073709551615]}})"),
              HasSubstr("integers in"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": {"depth": [1, 2]}})"), HasSubstr("legal: rows, cols"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": {"d": [1, 2]}})"), HasSubstr("unknown limits: axis \"d\""));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "takes": ["causal"]})"), HasSubstr("legal: row_length"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "takes": ["joins"]})"), HasSubstr("legal: row_length"));
  EXPECT_THAT(refusal(attention(R"({"formats": ["f16"], "takes": ["concat"]})")),
              HasSubstr("legal: causal, key_length"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "arithmetic": 3})"), HasSubstr("arithmetic: legal"));
  for (const char* wrong : {R"("fa2_sm8")", R"({"preset": "fa2_sm80", "exp_eror": 0})"}) {
    const std::string said = refusal(attention(std::string(R"({"formats": ["f16"], "arithmetic": )") + wrong + "}"));
    EXPECT_THAT(said, HasSubstr("did you mean "));
    EXPECT_EQ(said.find("arithmetic: "), said.rfind("arithmetic: ")) << said;
  }
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "arithmetic": "fa2_sm80"})"), HasSubstr("arithmetic"));
  EXPECT_THAT(refusal(attention(R"({"formats": ["f32"], "arithmetic": "fa2_sm80"})")), HasSubstr("f32"));
  EXPECT_THAT(refusal(attention(R"({"formats": ["f16"], "takes": ["paged"]})")),
              HasSubstr("paged: legal with key_length"));
  EXPECT_THAT(refusal(attention(R"({"formats": ["f16"], "takes": ["mixed"]})")),
              HasSubstr("mixed: legal with descale"));
  EXPECT_THAT(refusal(R"({"formats": ["f32"], "limits": )" + std::string(60000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("{\"formats\": [\"f32\"]" + std::string(70000, ' ') + "}"), HasSubstr("65536"));
  EXPECT_THAT(refusal(R"({"formats": ["\n\u001b[2J"]})"), HasSubstr("\\x1b"));
}

TEST(Description, ids_problems_and_devices) {
  const std::string right = R"({"formats": ["f32"]})";
  for (const char* id :
       {"", "softmax", "softmax.row", "softmax.row.mine.more", "attention.row.mine", "softmax.Row.mine",
        "softmax..mine", "softmax.row.", ".row.mine", "softmax.row/x.mine", "softmax.row.mine\n"}) {
    EXPECT_THAT(refusal({id, FLASHPROOF_SOFTMAX, FLASHPROOF_CPU, right}), HasSubstr("three names")) << id;
  }
  for (const int problem : {-1, 4, 1000}) {
    EXPECT_THAT(refusal({"softmax.row.mine", problem, FLASHPROOF_CPU, right}), HasSubstr("problem"));
  }
  for (const int device : {0, 3, -7}) {
    EXPECT_THAT(refusal({"softmax.row.mine", FLASHPROOF_SOFTMAX, device, right}), HasSubstr("device_type"));
  }
}

PluginEntry gradient(const std::string& fields, const std::string& format = "f16") {
  return {"attention_backward.row.mine", FLASHPROOF_ATTENTION_BACKWARD, FLASHPROOF_CPU,
          R"({"formats": [")" + format + "\"]" + fields + "}"};
}

TEST(Description, of_a_gradient_names_what_a_backward_pass_has) {
  const Described fa2 =
      describe(gradient(R"(, "arithmetic": "fa2_sm80", "takes": ["causal", "window", "alibi", "gqa"])"));
  ASSERT_EQ(fa2.backward.size(), 1U);
  ASSERT_EQ(fa2.backward.front().size(), 1U);
  EXPECT_EQ(fa2.backward.front().front().p, Format::f16);
  EXPECT_GT(describe(gradient("")).backward.front().size(), 1U);  // unknown: one of several
  const auto own = describe(gradient(
      R"(, "arithmetic": {"preset": "fa2_sm80", "exp_error": 0.001, "ds": "bf16", "dk": {"products": {"chains": 8}, "block": 64}})"));
  const BackwardArithmetic& a = own.backward.front().front();
  EXPECT_EQ(a.exp_error, 0.001);
  EXPECT_EQ(a.ds, Format::bf16);
  EXPECT_EQ(a.dk.block, 64);
  EXPECT_EQ(a.dk.products.chains, 8);
  EXPECT_TRUE(a.dk.heads_apart);  // the preset's

  EXPECT_THAT(refusal(gradient(R"(, "takes": ["softcap"])")), HasSubstr("softcap"));
  EXPECT_THAT(refusal(gradient(R"(, "returns": "o")")), HasSubstr("returns"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": "pytorch_math")")), HasSubstr("legal here: fa2_sm80"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": "fa3")")), HasSubstr("attention_backward"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"ds": "f16"})")), HasSubstr("exp_error: missing"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 1})")), HasSubstr("exp_error"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 0.1, "reduction": "any"})")), HasSubstr("reduction"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 0.1, "ds": "e4m3fn"})")),
              HasSubstr("f32, f16 or bf16"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 0.1, "unit": "raw"})")), HasSubstr("raw"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 0.1, "exponent": "subtract_then_scale"})")),
              HasSubstr("subtract_then_scale"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 0.1, "dq": {"heads_apart": true}})")), HasSubstr("dq"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 0.1, "dot": {"chains": 0}})")),
              HasSubstr("dot.chains"));
  EXPECT_THAT(refusal(gradient(R"(, "arithmetic": {"exp_error": 0.1, "dot": {"unit": "hopper_f16"}})", "f32")),
              HasSubstr("dot.unit"));
}

TEST(Description, semantics_are_a_preset_or_fields) {
  const auto said = [](const std::string& semantics, int problem = FLASHPROOF_ATTENTION, const std::string& more = "") {
    PluginEntry entry;
    entry.id = problem == FLASHPROOF_ATTENTION ? "attention.row.mine" : "attention_backward.row.mine";
    entry.problem = problem;
    entry.device_type = FLASHPROOF_CPU;
    entry.description = R"({"formats": ["f32"], "semantics": )" + semantics + more + "}";
    return describe(entry).contract.semantics;
  };
  EXPECT_EQ(said(R"("flash-attention-2")").empty_lse, LseValue::plus_infinity);
  EXPECT_EQ(said(R"({"preset": "triton-tutorial", "lse_base": "e"})"), (Semantics{.diagonal = Diagonal::top_left}));
  EXPECT_EQ(said("{}"), Semantics{});
  const auto refusal = [&](auto... arguments) {
    try {
      said(arguments...);
      return std::string("accepted");
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
  };
  EXPECT_THAT(refusal(R"({"lse_base": "10"})"), testing::HasSubstr("semantics: lse_base: \"10\"; legal: e, 2"));
  EXPECT_THAT(refusal(R"("jax")", FLASHPROOF_ATTENTION_BACKWARD),
              testing::HasSubstr("semantics: legal of a gradient: nothing"));
  EXPECT_THAT(refusal(R"({"diagonal": "top_left"})", FLASHPROOF_ATTENTION, R"(, "takes": ["alibi"])"),
              testing::HasSubstr("semantics: diagonal: legal with alibi: bottom_right"));
}

TEST(Description, a_merge_in_base_2_is_not_given_what_f32_cannot_hold) {
  PluginEntry entry;
  entry.id = "merge.flat.mine";
  entry.problem = FLASHPROOF_MERGE;
  entry.device_type = FLASHPROOF_CPU;
  entry.description = R"({"formats": ["f32"], "semantics": {"lse_base": "2"}})";
  const Described described = describe(entry);
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {1, 1, 1});
  p.lse = Tensor::dense(Format::f32, {1, 1});
  p.order = {0};
  p.lse.set({0, 0}, 3e38);
  EXPECT_THAT(described.refusal(p), testing::HasSubstr("beyond the range of f32"));
  p.lse.set({0, 0}, 2e38);
  EXPECT_EQ(described.refusal(p), "");
}

}  // namespace
}  // namespace flashproof
