#include "kernels/plugin/capability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/plugin.h"
#include "kernels/plugin/description.h"

namespace flashproof {
namespace {

using testing::UnorderedElementsAre;

std::vector<std::string_view> declared(const char* id, int problem, const std::string& fields) {
  std::vector<std::string_view> names;
  for (const Capability* one :
       describe({id, problem, FLASHPROOF_CPU, R"({"formats": ["f32"])" + fields + "}"}).declared) {
    names.push_back(one->name);
  }
  return names;
}

TEST(Capability, is_what_a_description_says) {
  const auto attention = [](const std::string& fields) {
    return declared("attention.row.mine", FLASHPROOF_ATTENTION, fields);
  };
  EXPECT_THAT(attention(R"(, "limits": {"dv": "d"})"), UnorderedElementsAre());
  EXPECT_THAT(attention(R"(, "limits": {"d": [64, 64], "dv": [64, 64]})"), UnorderedElementsAre());
  EXPECT_THAT(attention(R"(, "limits": {"d": [64, 64]})"), UnorderedElementsAre("d != dv"));
  EXPECT_THAT(attention(R"(, "takes": ["causal", "window", "causal"], "strides": "any")"),
              UnorderedElementsAre("causal", "window", "strides: rows", "strides: any", "d != dv"));
  EXPECT_THAT(declared("softmax.row.mine", FLASHPROOF_SOFTMAX, R"(, "takes": ["row_length"], "strides": "rows")"),
              UnorderedElementsAre("row_length", "strides: rows"));
}

TEST(Capability, every_word_of_a_description_has_one) {
  const auto all = [](const char* id, int problem, const std::string& words) {
    return declared(id, problem, R"(, "strides": "any", "takes": [)" + words + "]").size();
  };
  EXPECT_EQ(all("softmax.row.mine", FLASHPROOF_SOFTMAX, R"("row_length")"), 3U);
  EXPECT_EQ(all("merge.row.mine", FLASHPROOF_MERGE, R"("concat", "order", "unnormalised", "joins")"), 6U);
  EXPECT_EQ(all("attention.row.mine", FLASHPROOF_ATTENTION,
                R"("causal", "key_length", "bias", "gqa", "window", "softcap", "alibi", "sink", "packed", "paged",)"
                R"("descale", "mixed")"),
            16U);
  EXPECT_EQ(all("attention_backward.row.mine", FLASHPROOF_ATTENTION_BACKWARD,
                R"("causal", "key_length", "bias", "gqa", "window", "alibi")"),
            9U);
  EXPECT_THROW(capability(ProblemKind::softmax, "window"), std::logic_error);
}

AttentionProblem attention() {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 2, 3, 4});
  p.k = p.v = Tensor::dense(Format::f32, {1, 2, 5, 4});
  p.plan = ChunkPlan::uniform(5, 5);
  return p;
}

template <class Change>
bool tested(std::string_view name, const Change& change) {
  AttentionProblem p = attention();
  change(p);
  return capability(ProblemKind::attention, name).tested_by(p);
}

TEST(Capability, is_tested_where_a_kernel_that_leaves_it_out_is_wrong) {
  using A = AttentionProblem;
  EXPECT_TRUE(tested("causal", [](A& p) { p.causal = true; }));
  EXPECT_FALSE(tested("causal", [](A&) {}));
  EXPECT_FALSE(tested("causal", [](A& p) { p.causal = true, p.q = Tensor::dense(Format::f32, {1, 2, 1, 4}); }));
  EXPECT_TRUE(tested("window", [](A& p) { p.window_left = 3; }));
  EXPECT_FALSE(tested("window", [](A& p) { p.window_left = 4; }));
  EXPECT_TRUE(tested("window", [](A& p) { p.window_right = 1; }));
  EXPECT_FALSE(tested("window", [](A& p) { p.window_right = 2; }));
  EXPECT_FALSE(tested("window", [](A& p) { p.window_right = 0, p.causal = true; }));
  EXPECT_TRUE(tested("key_length", [](A& p) { p.key_length = {4}; }));
  EXPECT_FALSE(tested("key_length", [](A& p) { p.key_length = {5}; }));
  EXPECT_TRUE(tested("gqa", [](A& p) { p.k = p.v = Tensor::dense(Format::f32, {1, 1, 5, 4}); }));
  EXPECT_FALSE(tested("gqa", [](A&) {}));
  EXPECT_FALSE(tested("d != dv", [](A&) {}));
  EXPECT_TRUE(tested("d != dv", [](A& p) { p.v = Tensor::dense(Format::f32, {1, 2, 5, 3}); }));
  EXPECT_FALSE(tested("strides: rows", [](A&) {}));
  const auto laid = [](const std::vector<std::int64_t>& strides) {
    return [strides](A& p) { p.k = Tensor::strided(Format::f32, {1, 2, 5, 4}, strides); };
  };
  EXPECT_TRUE(tested("strides: rows", laid({60, 30, 6, 1})));
  EXPECT_FALSE(tested("strides: any", laid({60, 30, 6, 1})));
  EXPECT_TRUE(tested("strides: any", laid({40, 20, 1, 5})));
  EXPECT_FALSE(tested("strides: rows", laid({99, 20, 4, 1}))) << "of one sequence no kernel sees it";
  const auto factors = [](double value) {
    return [value](A& p) {
      p.v_descale = Tensor::dense(Format::f32, {1, 2});
      for (std::int64_t h = 0; h < 2; ++h) p.v_descale.set({0, h}, value);
    };
  };
  const auto pages = [](std::vector<std::int32_t> table, std::vector<std::int32_t> lengths) {
    return [=](A& p) {
      p.q = Tensor::dense(Format::f32, {2, 2, 3, 4});
      p.page_table = table;
      p.key_length = lengths;
      p.k = p.v = Tensor::dense(Format::f32, {4, 2, 5, 4});
    };
  };
  EXPECT_TRUE(tested("shared pages", pages({0, 1, 0, 2}, {9, 8})));
  EXPECT_FALSE(tested("shared pages", pages({0, 1, 3, 2}, {9, 8})));
  EXPECT_FALSE(tested("shared pages", pages({0, 0, 1, 0}, {9, 5}))) << "one sequence alone has keys there";
  EXPECT_TRUE(tested("descale", factors(0.5)));
  EXPECT_FALSE(tested("descale", factors(1)));
}

TEST(Capability, pages_of_a_single_sequence_are_not_shared) {
  const auto shares = [](const std::string& limits) {
    const auto names =
        declared("attention.row.mine", FLASHPROOF_ATTENTION, R"(, "takes": ["paged", "key_length"])" + limits);
    return std::ranges::find(names, "shared pages") != names.end();
  };
  EXPECT_TRUE(shares(""));
  EXPECT_TRUE(shares(R"(, "limits": {"batch": [1, 2]})"));
  EXPECT_FALSE(shares(R"(, "limits": {"batch": [1, 1]})"));
}

}  // namespace
}  // namespace flashproof
