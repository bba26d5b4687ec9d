#include "reference/error/semantics/rounded_truth.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flashproof {
namespace {

/// Two equal columns, one NaN among them, none visible.
SoftmaxProblem three_rows(Format format) {
  SoftmaxProblem p;
  p.x = Tensor::dense(format, {3, 2});
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 2; ++c) p.x.set({r, c}, r == 1 && c == 0 ? std::nan("") : 1.0);
  }
  p.row_length = {2, 2, 0};
  p.plan = ChunkPlan::uniform(2, 2);
  return p;
}

TEST(RoundedTruth, IsTheNearestNumberOfTheFormatOrTheClass) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    const Tensor o = rounded_truth(three_rows(format), Part::o);
    EXPECT_EQ(o.format, format);
    EXPECT_EQ(o.at({0, 0}), 0.5);
    EXPECT_TRUE(std::isnan(o.at({1, 1})));
    EXPECT_EQ(o.at({2, 1}), 0);
    const Tensor lse = rounded_truth(three_rows(format), Part::lse);
    EXPECT_EQ(lse.format, Format::f32);
    EXPECT_EQ(lse.at({0}), static_cast<double>(1.69314718F));
    EXPECT_EQ(lse.at({2}), -INFINITY);
  }
}

}  // namespace
}  // namespace flashproof
