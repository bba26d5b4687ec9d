#include "reference/problem/hidden_keys.h"
#include "reference/problem/special_values.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace flashproof {
namespace {

Tensor zeros(std::vector<std::int64_t> shape) {
  Tensor tensor = Tensor::dense(Format::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_bits(i, 0);
  return tensor;
}

AttentionProblem two_by_three() {
  AttentionProblem p;
  p.q = zeros({1, 1, 2, 1});
  p.k = p.v = zeros({1, 1, 3, 1});
  p.plan = ChunkPlan::uniform(3, 3);
  return p;
}

TEST(HiddenKeys, a_key_that_every_row_sees_may_hold_anything) {
  AttentionProblem p = two_by_three();
  EXPECT_FALSE(hidden_keys_hold_specials(p));
  p.k.set({0, 0, 2, 0}, kNan);
  EXPECT_FALSE(hidden_keys_hold_specials(p));
  p.causal = true;  // query 0 sees the keys 0 and 1
  EXPECT_TRUE(hidden_keys_hold_specials(p));
  p.k.set({0, 0, 2, 0}, 0);
  EXPECT_FALSE(hidden_keys_hold_specials(p));
  p.v.set({0, 0, 2, 0}, -kInfinity);
  EXPECT_TRUE(hidden_keys_hold_specials(p));
}

TEST(HiddenKeys, beyond_the_length_there_are_no_keys) {
  AttentionProblem p = two_by_three();
  p.v.set({0, 0, 2, 0}, kInfinity);
  p.key_length = {2};
  EXPECT_FALSE(hidden_keys_hold_specials(p));
}

TEST(HiddenKeys, a_bias_hides) {
  AttentionProblem p = two_by_three();
  p.v.set({0, 0, 1, 0}, kInfinity);
  p.bias = zeros({1, 1, 2, 3});
  EXPECT_FALSE(hidden_keys_hold_specials(p));
  p.bias.set({0, 0, 1, 1}, -kInfinity);
  EXPECT_TRUE(hidden_keys_hold_specials(p));
}

}  // namespace
}  // namespace flashproof
