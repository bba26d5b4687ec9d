// What a library compiled yesterday rests on: where every member lies (LP64), and that DLPack's tensor is ours.
#include <gtest/gtest.h>

#include <cstddef>

#include "kernels/plugin/load.h"

namespace flashproof {
namespace {

static_assert(FLASHPROOF_PLUGIN_ABI == 1, "another version has other offsets: change them together");
static_assert(sizeof(flashproof_tensor) == 48 && offsetof(flashproof_tensor, device) == 8 &&
              offsetof(flashproof_tensor, ndim) == 16 && offsetof(flashproof_tensor, dtype) == 20 &&
              offsetof(flashproof_tensor, shape) == 24 && offsetof(flashproof_tensor, strides) == 32 &&
              offsetof(flashproof_tensor, byte_offset) == 40);
static_assert(sizeof(flashproof_softmax) == 24 && sizeof(flashproof_merge) == 56 &&
              sizeof(flashproof_attention) == 136);
static_assert(offsetof(flashproof_merge, concat) == 48 && offsetof(flashproof_attention, page_table) == 104 &&
              offsetof(flashproof_attention, scale) == 112 && offsetof(flashproof_attention, causal) == 120);
static_assert(sizeof(flashproof_attention_backward) == 40 && offsetof(flashproof_attention_backward, lse) == 32);
static_assert(sizeof(flashproof_call) == 128 && offsetof(flashproof_call, attention_backward) == 96 &&
              offsetof(flashproof_call, o) == 40 && offsetof(flashproof_call, workspace) == 56 &&
              offsetof(flashproof_call, stream) == 72 && offsetof(flashproof_call, error) == 80);
static_assert(sizeof(flashproof_kernel) == 56 && offsetof(flashproof_kernel, id) == 8 &&
              offsetof(flashproof_kernel, problem) == 16 && offsetof(flashproof_kernel, description) == 24 &&
              offsetof(flashproof_kernel, run) == 32);
static_assert(sizeof(flashproof_plugin) == 48 && offsetof(flashproof_plugin, struct_size) == 8 &&
              offsetof(flashproof_plugin, kernels) == 40);

TEST(Abi, a_kernel_that_knows_dlpack_sees_its_own_tensors) {
  const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "with_dlpack.so");
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {2, 3});
  for (std::int64_t c = 0; c < 3; ++c) p.x.set({0, c}, 0.5), p.x.set({1, c}, static_cast<double>(c));
  p.plan = ChunkPlan::uniform(3, 3);
  EXPECT_EQ(run(plugin.kernels()[0], p).o, p.x);
}

}  // namespace
}  // namespace flashproof
