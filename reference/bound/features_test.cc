// Which features of attention the bound covers, and that it refuses the others.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "reference/bound/bound.h"
#include "reference/bound/one_row.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

using bound::declared;
using bound::one_row;

TEST(Bound, a_feature_without_a_derivation_is_refused_by_name) {
  const auto message = [](auto&& change) -> std::string {
    AttentionProblem p = one_row({1.0F, 2.0F}, {1.0F, 2.0F}, 2);
    change(p);
    EXPECT_NO_THROW(validate(p));
    try {
      compute_bound(p, declared(Reduction::chunk_deferred));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "(nothing was thrown)";
  };
  const auto ones = [](std::vector<std::int64_t> shape) {
    Tensor tensor = Tensor::dense(Format::f32, std::move(shape));
    tensor.set_bits(0, encode(Format::f32, 1.0));
    return tensor;
  };
  using P = AttentionProblem;
  EXPECT_EQ(message([](P& p) { p.softcap = 30; }), "softcap: no bound is derived for it yet, legal: softcap = 0");
  EXPECT_EQ(message([&](P& p) { p.alibi = ones({1, 1}); }), "alibi: no bound is derived for it yet, legal: no alibi");
  EXPECT_EQ(message([&](P& p) { p.sink = ones({1}); }), "sink: no bound is derived for it yet, legal: no sink");
  EXPECT_EQ(message([](P& p) { p.q_start = {0, 1}, p.k_start = {0, 2}; }),
            "packed: no bound is derived for it yet, legal: an empty q_start");
  EXPECT_EQ(message([](P& p) { p.page_table = {0}; }),
            "paged: no bound is derived for it yet, legal: an empty page_table");
}

// A window hides keys as causality and a bias of −inf do; the theorem speaks of the keys that are left. So the bound is,
// to the bit, that of the same row with only those keys: chunks of 2, of which the window cuts off one and a half.
TEST(Bound, a_window_leaves_the_bound_of_the_visible_keys) {
  const std::vector<float> s = {9.0F, 8.0F, 30.0F, 0.5F, -0.25F, 1.5F, 1.0F};
  const std::vector<float> v = {5.0F, 1e30F, -7.0F, 1.0F, -2.0F, 0.5F, 3.0F};
  for (const Reduction reduction : {Reduction::chunk_deferred, Reduction::chunk_normalized}) {
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

}  // namespace
}  // namespace flashproof
