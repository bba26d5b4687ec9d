// Negative controls: each law passes a right kernel on a case and fails the same kernel once something that the law is
// about is broken around it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "properties/laws/support/change.h"

namespace flashproof {
namespace {

Case normal_case(std::map<std::string, std::string> more = {}, const char* family = "normal") {
  std::map<std::string, std::string> keys = {{"sq", "40"}, {"sk", "90"}, {"hq", "4"}, {"hk", "2"}, {"d", "16"}};
  keys.merge(more);
  return make_case({ProblemKind::attention, family, 3, std::move(keys)});
}

Verdict ask_law(const char* law, const Kernel& kernel, const Case& subject, Runner runner = Trial::run_kernel) {
  Trial trial(kernel, subject, nullptr, {}, std::move(runner));
  return ask(*find_law(law), trial);
}

void expect_seen(const char* law, const Case& subject, const Runner& broken,
                 const char* id = "attention.deferred.hardened") {
  const Kernel* kernel = find_kernel(id);
  ASSERT_NE(kernel, nullptr) << id;
  const Verdict right = ask_law(law, *kernel, subject);
  EXPECT_EQ(to_string(right), "pass") << law << ": " << right.detail;
  EXPECT_TRUE(ask_law(law, *kernel, subject, broken).failed()) << law;
}

/// The kernel on another problem than it was asked.
template <class Change>
Runner asked_wrongly(Change change) {
  return [change](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
    Problem other = problem;
    change(std::get<AttentionProblem>(other));
    return Trial::run_kernel(kernel, other, options);
  };
}

/// The kernel's o, changed.
template <class Change>
Runner with_output(Change change) {
  return [change](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
    Output output = Trial::run_kernel(kernel, problem, options);
    output.o = mapped(output.o, change);
    return output;
  };
}

TEST(ValueLaws, ABiasBehindTheLengthIsNoInput) {
  auto p = std::get<AttentionProblem>(normal_case({{"b", "2"}}).problem);
  p.bias = dense_bias(p);
  p.key_length = {50, 90};
  p.bias.set({0, 1, 2, 50}, NAN);
  EXPECT_EQ(std::ranges::count(ordinary_rows(p), 0), 0);
  p.bias.set({0, 1, 2, 49}, NAN);
  EXPECT_EQ(std::ranges::count(ordinary_rows(p), 0), 1);
}

TEST(ValueLaws, ScalingSeesAnAbsoluteAmountInTheOutput) {
  expect_seen("power_of_two_scaling_is_bitwise", normal_case(), with_output([](double o) { return o + 0.01; }));
}

TEST(ValueLaws, ScalingSeesAScaleThatIsLeftOut) {
  expect_seen("power_of_two_scaling_is_bitwise", normal_case(),
              asked_wrongly([](AttentionProblem& p) { p.scale = 1; }));
}

TEST(ValueLaws, OnesSeeWeightsThatSumToMore) {
  expect_seen("ones_in_ones_out", normal_case(), with_output([](double o) { return o * (1 + 0x1p-10); }));
  expect_seen("ones_in_ones_out", normal_case({}, "sink"), with_output([](double) { return 1.0; }));
}

TEST(ValueLaws, OnesSeeBlocksAndSoftmaxRowsThatSumToMore) {
  const auto more = with_output([](double o) { return o * (1 + 0x1p-8); });
  const Case softmax = make_case({ProblemKind::softmax, "normal", 2, {}});
  expect_seen("ones_in_ones_out", softmax, more, "softmax.safe.hardened");
  const Case concat = make_case({ProblemKind::merge, "normal", 2, {{"form", "concat"}}});
  const Case sum = make_case({ProblemKind::merge, "normal", 2, {{"form", "sum"}}});
  expect_seen("ones_in_ones_out", concat, more, "merge.nway.hardened");
  expect_seen("ones_in_ones_out", sum, more, "merge.nway.hardened");
}

TEST(ValueLaws, HullSeesAValueOutside) {
  expect_seen("convex_hull", normal_case({}, "one_signed_v"), with_output([](double o) { return 4 * o; }));
}

TEST(ValueLaws, HullSeesInfinities) {
  for (const double infinity : {HUGE_VAL, -HUGE_VAL}) {
    expect_seen("convex_hull", normal_case(), with_output([=](double) { return infinity; }));
  }
}

TEST(ValueLaws, HullSeesWeightOfAHiddenColumn) {
  const Case subject = make_case({ProblemKind::softmax, "normal", 2, {{"format", "f32"}}});
  Case hidden = subject;
  auto& p = std::get<SoftmaxProblem>(hidden.problem);
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) p.x.set({r, 0}, -HUGE_VAL);
  expect_seen("convex_hull", hidden, with_output([](double o) { return o == 0 ? 0.5 : o; }), "softmax.safe.hardened");
}

TEST(ValueLaws, MaskFormsSeeAWindowOneKeyWide) {
  const auto wide = asked_wrongly([](AttentionProblem& p) { p.window_right += p.window_right >= 0 ? 1 : 0; });
  expect_seen("mask_forms_agree", normal_case({{"causal", "1"}}), wide);
}

TEST(ValueLaws, MaskFormsSeeAMaskThatIsLeftOut) {
  const auto open = asked_wrongly([](AttentionProblem& p) {
    p.causal = false;
    p.window_right = -1;
  });
  expect_seen("mask_forms_agree", normal_case({{"causal", "1"}}), open);
}

TEST(ValueLaws, SharedHeadsSeeTheWrongHead) {
  const auto reversed = asked_wrongly([](AttentionProblem& p) {
    const std::int64_t other[] = {1, 0};
    if (p.k_heads() == 2) p.k = gather(p.k, 1, other);
  });
  expect_seen("gqa_equals_expanded", normal_case(), reversed);
}

TEST(ValueLaws, PagesSeeEntriesOutOfOrder) {
  const auto swapped = asked_wrongly([](AttentionProblem& p) {
    if (p.paged()) std::swap(p.page_table[0], p.page_table[1]);
  });
  expect_seen("paged_equals_contiguous", normal_case(), swapped);
  expect_seen("paged_equals_contiguous", normal_case({}, "paged"),
              [](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
                Output output = Trial::run_kernel(kernel, problem, options);
                if (std::get<AttentionProblem>(problem).paged()) output.lse.set_bits(0, output.lse.bits(0) + 1);
                return output;
              });
}

TEST(ValueLaws, OneHotSeesAScoreThatIsOff) {
  expect_seen("one_hot_v_returns_p", normal_case(), asked_wrongly([](AttentionProblem& p) { p.scale *= 1.01F; }));
}

TEST(ValueLaws, OneHotSeesAHiddenKey) {
  const auto open = asked_wrongly([](AttentionProblem& p) { p.causal = false; });
  expect_seen("one_hot_v_returns_p", normal_case({{"causal", "1"}}), open);
}

TEST(ValueLaws, BiasSeesWhatNoElementShows) {
  // A fraction of the bound of an element, always to the same side.
  const Case subject = normal_case({{"sq", "64"}, {"sk", "128"}});
  const Runner lower = with_output([](double o) { return o * (1 - 0x1p-20); });
  expect_seen("signed_bias_within_limit", subject, lower);
}

TEST(ValueLaws, PermutedComponentsSeeOneThatIsLeftOut) {
  const auto dropped = asked_wrongly([](AttentionProblem& p) {
    for (std::int64_t i = 0; i < p.q_length(); ++i) p.q.set({0, 0, i, 0}, 0);
  });
  expect_seen("dim_permutation_within_a_k_group_is_bitwise", normal_case({{"format", "f16"}}), dropped,
              "attention.mma_f16.hardened");
}

TEST(ValueLaws, PermutedComponentsSeeAUnitOfOtherSteps) {
  // Declared with steps of 16 products, run with steps of 8: the order within 16 shows where 8 are cut at a time.
  const Case subject = normal_case({{"format", "f16"}, {"d", "64"}, {"sq", "64"}});
  RunOptions ampere;
  ampere.matrix_unit = kAmpereF16;
  const Kernel& kernel = *find_kernel("attention.mma_f16.hardened");
  Trial trial(kernel, subject, nullptr, ampere);
  const Law& law = *find_law("dim_permutation_within_a_k_group_is_bitwise");
  EXPECT_TRUE(ask(law, trial).failed());
  const Kernel declared = on_unit(kernel, kAmpereF16);
  Trial right(declared, subject, nullptr, ampere);
  EXPECT_EQ(to_string(ask(law, right)), "pass");
}

}  // namespace
}  // namespace flashproof
