#include <gtest/gtest.h>

#include <cmath>

#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/gpu/production_problem.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

AttentionProblem small() {
  return production_problem({.heads = 2, .kv_heads = 2, .length = 5, .depth = 16}, Threads(1));
}

TEST(GpuUnsupported, TakesThePlainProblem) { EXPECT_EQ(gpu_tier_unsupported(small()), ""); }

TEST(GpuUnsupported, NamesWhatItDoesNotTake) {
  const auto reason = [](const auto& change) {
    AttentionProblem problem = small();
    change(problem);
    const std::string text = gpu_tier_unsupported(problem);
    return text.substr(0, text.find_first_of(": "));
  };
  EXPECT_EQ(reason([](auto& p) { p.q_start = {0, 5}; }), "q_start");
  EXPECT_EQ(reason([](auto& p) { p.page_table = {0}; }), "page_table");
  EXPECT_EQ(reason([](auto& p) { p.bias = Tensor::dense(Format::f32, {1, 2, 5, 5}); }), "bias");
  EXPECT_EQ(reason([](auto& p) { p.alibi = Tensor::dense(Format::f32, {1, 2}); }), "alibi");
  EXPECT_EQ(reason([](auto& p) { p.softcap = 30; }), "softcap");
  EXPECT_EQ(reason([](auto& p) { p.v_descale = Tensor::strided(Format::f32, {1, 2}, {0, 0}); }), "descale");
  EXPECT_EQ(reason([](auto& p) { p.k.format = p.v.format = Format::e5m2; }), "mixed");
  EXPECT_EQ(reason([](auto& p) { p.q.format = p.k.format = p.v.format = Format::e4m3fn; }), "mixed");
  EXPECT_EQ(reason([](auto& p) { p.scale = 0; }), "scale");
  EXPECT_EQ(reason([](auto& p) {
              p.sink = Tensor::dense(Format::f32, {2});
              p.sink.set({0}, 0), p.sink.set({1}, NAN);
            }),
            "sink");
  EXPECT_EQ(reason([](auto& p) { p.q.set({0, 1, 4, 15}, INFINITY); }), "q");
  EXPECT_EQ(reason([](auto& p) { p.k.set({0, 0, 0, 0}, NAN); }), "k");
  EXPECT_EQ(reason([](auto& p) { p.v.set({0, 1, 4, 15}, -INFINITY); }), "v");
}

TEST(GpuUnsupported, DoesNotLookBeyondTheKeys) {
  AttentionProblem problem = small();
  problem.key_length = {4};
  problem.v.set({0, 1, 4, 15}, NAN);
  EXPECT_EQ(gpu_tier_unsupported(problem), "");
}

TEST(GpuUnsupported, WithoutAGpuTheTierRefuses) {
  std::string why;
  if (gpu_tier_available(&why)) GTEST_SKIP() << "there is a GPU";
  EXPECT_FALSE(why.empty());
  EXPECT_THROW(gpu_tier(small()), InfrastructureError);
}

}  // namespace
}  // namespace flashproof
