// Which features of attention the bound covers – all of them – and what it refuses.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "reference/bound/bound.h"
#include "reference/bound/test/one_row.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using bound::declared;
using bound::one_row;

constexpr Reduction kReductions[] = {Reduction::chunk_deferred, Reduction::chunk_normalized, Reduction::row_resident,
                                     Reduction::chunk_recap, Reduction::lse_running};

TEST(Bound, every_feature_of_attention_has_a_bound) {
  using enum Feature;
  for (const Feature feature : {window, softcap, alibi, sink, packed, paged}) {
    const test::Mix mix{.window = feature == window,
                        .softcap = feature == softcap,
                        .alibi = feature == alibi,
                        .sink = feature == sink,
                        .packed = feature == packed,
                        .paged = feature == paged};
    Random random(3, static_cast<std::uint64_t>(feature));
    const AttentionProblem p = test::random_attention(random, Format::f32, mix, true);
    ASSERT_TRUE(p.has(feature)) << name(feature);
    for (const Reduction reduction : kReductions) {
      Arithmetic a = declared(reduction);
      a.tanh_error = 0x1p-20;
      const Bound bound = compute_bound(p, a);
      double largest = 0;
      for (const ElementBound& element : bound.o) largest = std::max(largest, element.total());
      EXPECT_GT(largest, 0) << name(feature);
      EXPECT_LT(largest, 1e-2) << name(feature);
    }
  }
}

/// Rows of two problems that are the same function of the same numbers: `to` is the row of the second for one of the first.
template <class To>
void expect_same(const Problem& first, const Problem& second, To&& to) {
  for (const Reduction reduction : kReductions) {
    const Bound a = compute_bound(first, declared(reduction)), b = compute_bound(second, declared(reduction));
    ASSERT_EQ(a.rows, b.rows);
    ASSERT_EQ(a.width, b.width);
    for (std::int64_t row = 0; row < a.rows; ++row) {
      const std::int64_t other = to(row);
      EXPECT_EQ(a.lse[row].total(), b.lse[other].total());
      EXPECT_EQ(a.domain[row].nearest.value, b.domain[other].nearest.value);
      for (std::int64_t c = 0; c < a.width; ++c) {
        EXPECT_EQ(a.o[row * a.width + c].total(), b.o[other * b.width + c].total());
        EXPECT_EQ(a.range[row * a.width + c], b.range[other * b.width + c]);
      }
    }
  }
}

// Where keys lie changes nothing: neither pages nor packs, nor whose they are.
TEST(Bound, pages_and_packs_leave_the_bound_as_it_is) {
  Random random(5, 0);
  const auto normal = [&] { return random.normal(); };
  AttentionProblem plain =
      test::attention(Format::f16, {.batch = 2, .q_heads = 4, .k_heads = 2}, normal, normal, normal);
  plain.causal = true;
  plain.plan = ChunkPlan::uniform(plain.k_length(), 4);
  const std::int64_t heads = plain.q_heads(), sq = plain.q_length(), batch = plain.batch();
  AttentionProblem paged = test::in_pages(plain, 4, random);
  paged.plan = plain.plan;
  ASSERT_EQ(paged.k_length(), plain.k_length());
  expect_same(plain, paged, [](std::int64_t row) { return row; });
  AttentionProblem packed = test::in_one_pack(plain);
  packed.plan = plain.plan;
  expect_same(plain, packed, [&](std::int64_t row) {
    const std::int64_t b = row / (heads * sq), h = row / sq % heads;
    return (h * batch + b) * sq + row % sq;
  });
}

// A window hides keys as causality and a bias of −inf do; the theorem is about the keys that are left. So the bound is,
// to the bit, that of the same row with only those keys: chunks of 2, of which the window cuts off one and a half.
TEST(Bound, a_window_leaves_the_bound_of_the_visible_keys) {
  const std::vector<float> s = {9.0F, 8.0F, 30.0F, 0.5F, -0.25F, 1.5F, 1.0F};
  const std::vector<float> v = {5.0F, 1e30F, -7.0F, 1.0F, -2.0F, 0.5F, 3.0F};
  for (const Reduction reduction :
       {Reduction::chunk_deferred, Reduction::chunk_normalized, Reduction::chunk_recap, Reduction::lse_running}) {
    AttentionProblem windowed = one_row(s, v, 2);
    windowed.window_left = 3;  // keys 3 to 6 of 0 to 6
    AttentionProblem shorter = one_row({s.begin() + 3, s.end()}, {v.begin() + 3, v.end()}, 2);
    shorter.plan = {{0, 1, 3, 4}, {0, 1, 2}};
    const auto compute = [&](const AttentionProblem& p) { return compute_bound(p, declared(reduction)); };
    const Bound bound = compute(windowed), expected = compute(shorter);
    EXPECT_GT(bound.o[0].total(), 0);
    EXPECT_EQ(bound.o[0].weights, expected.o[0].weights);
    EXPECT_EQ(bound.o[0].denominator, expected.o[0].denominator);
    EXPECT_EQ(bound.o[0].output, expected.o[0].output);
    EXPECT_EQ(bound.range[0], expected.range[0]);
    EXPECT_EQ(bound.lse[0].total(), expected.lse[0].total());
    // The kernel may still rescale once per chunk of the plan, though nothing was seen: 5·chunks underflows of 2^-150.
    EXPECT_NEAR(bound.o[0].numerator, expected.o[0].numerator, 0x1p-140);
    windowed.window_left = -1;
    EXPECT_GT(compute(windowed).o[0].total(), 1e10) << "the window is what keeps 1e30 out";
  }
}

TEST(Bound, what_attention_does_not_cover_is_refused_by_name) {
  const auto refusal = [](auto&& change, auto&& spoil) -> std::string {
    Arithmetic a = declared(Reduction::chunk_deferred);
    AttentionProblem p = one_row({1.0F, 2.0F}, {1.0F, 2.0F}, 2);
    change(a);
    spoil(p);
    try {
      compute_bound(p, a);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "(nothing was thrown)";
  };
  const auto declaration = [&](auto&& change) { return refusal(change, [](AttentionProblem&) {}); };
  const auto none = [](Arithmetic&) {};
  using A = Arithmetic;
  const auto starts = [](const std::string& text, const std::string& with) {
    return text.substr(0, with.size()) == with ? with : text;
  };
  const auto expect = [&](auto&& change, const std::string& field) {
    EXPECT_EQ(starts(declaration(change), "declared arithmetic: " + field), "declared arithmetic: " + field);
  };
  expect([](A& a) { a.reduction = Reduction::flat; }, "reduction:");
  expect([](A& a) { a.lanes = 3; }, "lanes:");
  expect([](A& a) { a.dot.chains = 0; }, "dot.chains:");
  expect([](A& a) { a.values.unit.k = 65; }, "values.unit.k:");
  expect([](A& a) { a.values.unit = {.k = 4, .f = 60}; }, "values.unit.f:");
  expect([](A& a) { a.dot.promote = 4; }, "dot.promote:");
  expect([](A& a) { a.unit = ScoreUnit::raw; }, "unit:");
  expect([](A& a) { a.weights.scale = 3; }, "weights.scale:");
  expect([](A& a) { a.lazy_log2 = 64; }, "lazy_log2:");
  expect([](A& a) { a.split = {.parts = 2, .combine = Reduction::flat, .weights = MergeWeights::stable}; },
         "split.weights:");
  expect([](A& a) { a.split = {.parts = 2, .partial_lse = Format::e5m2}; }, "split.partial_lse:");
  expect([](A& a) { a.reduction = Reduction::row_resident, a.ending = Ending::division_free; }, "ending:");
  const auto raw = [](A& a) {
    a.unit = ScoreUnit::raw, a.exponent = Exponent::fused, a.lse_form = LseForm::scaled_max_plus_log;
  };
  EXPECT_EQ(starts(refusal(raw, [](AttentionProblem& p) { p.scale = -1; }), "scale: -1"), "scale: -1");
  EXPECT_EQ(refusal(none, [](AttentionProblem& p) { p.softcap = 30; }),
            "softcap: the declared arithmetic has no tanh_error, legal: softcap = 0");
  EXPECT_EQ(refusal(none, [](AttentionProblem&) {}), "(nothing was thrown)");
}

}  // namespace
}  // namespace flashproof
