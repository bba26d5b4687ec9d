#include "reference/error/assumption.h"

#include <gtest/gtest.h>

namespace flashproof {
namespace {

ElementBound parts(double weights, double numerator, double denominator, double output, double probable) {
  ElementBound bound{weights, numerator, denominator, output};
  bound.probable = probable;
  return bound;
}

std::string_view key(const Arithmetic& arithmetic, const ElementBound& bound, double error) {
  return likely_broken(arithmetic, bound, error).key;
}

constexpr Arithmetic kScalar = {.reduction = Reduction::chunk_deferred};

TEST(LikelyBroken, blames_the_largest_part_that_can_explain_the_error) {
  const ElementBound bound = parts(5, 20, 10, 1, 2);
  EXPECT_EQ(key(kScalar, bound, 6), "sum_centred");
  EXPECT_EQ(key(kScalar, parts(20, 5, 10, 1, 2), 6), "weights_independent");
  EXPECT_EQ(key(kScalar, parts(5, 10, 20, 1, 2), 6), "denominator_centred");
  EXPECT_EQ(key(kScalar, parts(5, 10, 1, 20, 2), 6), "ending_centred");
  // 30 is more than the numerator's 20 beside a probable rest of 2: no part alone, the largest is named.
  EXPECT_EQ(key(kScalar, bound, 30), "sum_centred");
}

TEST(LikelyBroken, the_assumption_follows_from_the_arithmetic) {
  Arithmetic stored = kScalar, unit = kScalar, scores = kScalar, merge = kScalar;
  stored.weights.format = Format::bf16;
  unit.values.unit = kHopperF16;
  scores.dot.unit = kHopperF16;
  merge.reduction = Reduction::pairwise_fold;
  const ElementBound numerator = parts(1, 20, 1, 1, 2), weights = parts(20, 1, 1, 1, 2);
  EXPECT_EQ(key(stored, numerator, 5), "stored_weights_independent");
  EXPECT_EQ(key(unit, numerator, 5), "value_drift");
  EXPECT_EQ(key(scores, weights, 5), "score_drift");
  EXPECT_EQ(key(merge, weights, 5), "joins_independent");
}

}  // namespace
}  // namespace flashproof
