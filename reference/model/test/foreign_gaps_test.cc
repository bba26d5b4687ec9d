// What reference/bound/README.md, section 9, says of a preset that its source may do besides: where it is seen, and what
// declaration holds of it.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/bound/declare/presets.h"
#include "reference/model/model.h"

namespace flashproof {
namespace {

// Equal scores of 2^14 and more, and equal values: every part has the same lse, and what rounds is lse of them all, which the
// combination divides by.
TEST(ForeignGaps, split_keys_of_large_scores_are_beyond_fa2_and_within_a_split) {
  constexpr std::int64_t kKeys = 192;
  AttentionProblem p;
  p.q = Tensor::dense(Format::f16, {1, 1, 1, 1});
  p.k = p.v = Tensor::dense(Format::f16, {1, 1, kKeys, 1});
  p.q.set({0, 0, 0, 0}, 128);
  for (std::int64_t key = 0; key < kKeys; ++key) {
    p.k.set({0, 0, key, 0}, 192);
    p.v.set({0, 0, key, 0}, 1);
  }
  p.scale = 1;
  p.plan = ChunkPlan::uniform(kKeys, 64);
  const Problem problem = p;
  const Arithmetic split = presets::fa2_split(3);
  const double error = std::fabs(run_model_unrounded(problem, split).o.at({0, 0}) - 1);
  const Arithmetic whole = parse_arithmetic("fa2_sm80", ProblemKind::attention, Format::f16);
  EXPECT_GT(error, compute_bound(problem, whole).o[0].total());
  EXPECT_LE(error, compute_bound(problem, split).o[0].total());
}

}  // namespace
}  // namespace flashproof
