// Bugs planted in real kernels: their own text with one barrier left out. Each is found in one run under
// the plain schedule; with all of them the kernel is clean. This file is instrumented (simt/shadow/shadow.h).
#define FP_EXECUTOR cpu_planted
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/run/run.h"
#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/simt.h"

namespace flashproof::planted {

constexpr int kNone = -1;
constexpr int kThreads = 1024;

// Which call to leave out, counted per thread from 0, in a launch of one block.
struct Omission {
  int wanted = kNone;
  int seen[kThreads] = {};

  bool here() { return seen[threadIdx.x]++ == wanted; }
};
Omission barrier;

inline void syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!barrier.here()) __syncthreads(file, line);
}

}  // namespace flashproof::planted

#define __syncthreads() ::flashproof::planted::syncthreads()
#include "kernels/attention/deferred.h"
#include "kernels/attention_backward/two_kernels.h"
#include "kernels/merge/pairwise_stable.h"
#include "kernels/softmax/online_block.h"
#include "kernels/softmax/online_two_pass.h"

namespace flashproof {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<simt::Race> races(const char* id, Launch launch, const Problem& problem, int without_barrier) {
  planted::barrier = {.wanted = without_barrier};
  Kernel kernel = *find_kernel(id);
  kernel.launch = launch;
  simt::ScopedShadow shadow;
  run(kernel, problem, {.shadow = &shadow});
  EXPECT_GT(shadow.accesses(), 0U);
  return shadow.races();
}

SoftmaxProblem row(std::int64_t cols) {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, cols});
  for (std::int64_t j = 0; j < cols; ++j) p.x.set({0, j}, std::sin(static_cast<double>(j)));
  p.plan = ChunkPlan::uniform(cols, 100);
  return p;
}

AttentionProblem attention() {
  AttentionProblem p;
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) {
    *tensor = Tensor::dense(Format::f32, {1, 1, tensor == &p.q ? 16 : 24, 8});
    for (std::int64_t i = 0; i < tensor->elements(); ++i) {
      tensor->set_bits(i, encode(Format::f32, std::sin(static_cast<double>(i))));
    }
  }
  p.plan = ChunkPlan::uniform(24, 8);
  return p;
}

std::vector<simt::Race> gradient_races(const BackwardProblem& problem, int without_barrier) {
  planted::barrier = {.wanted = without_barrier};
  Kernel kernel = *find_kernel("attention_backward.two_kernels.hardened");
  kernel.launch = cpu_planted::launch_backward_two_kernels<cpu_planted::backward::Accurate>;
  simt::ScopedShadow shadow;
  run(kernel, problem, {.shadow = &shadow});
  EXPECT_GT(shadow.accesses(), 0U);
  return shadow.races();
}

/// One head; tiles are 16 queries by 16 keys.
BackwardProblem gradient(std::int64_t queries, std::int64_t keys) {
  BackwardProblem p;
  AttentionProblem& f = p.forward;
  f.q = Tensor::dense(Format::f32, {1, 1, queries, 8});
  f.k = Tensor::dense(Format::f32, {1, 1, keys, 8});
  f.v = Tensor::dense(Format::f32, {1, 1, keys, 8});
  p.d_out = Tensor::dense(Format::f32, {1, 1, queries, 8});
  p.o = Tensor::dense(Format::f32, {1, 1, queries, 8});
  p.lse = Tensor::dense(Format::f32, {1, 1, queries});
  for (Tensor* tensor : {&f.q, &f.k, &f.v, &p.d_out, &p.o, &p.lse}) {
    for (std::int64_t i = 0; i < tensor->elements(); ++i) {
      tensor->set_bits(i, encode(Format::f32, std::sin(static_cast<double>(i))));
    }
  }
  f.plan = ChunkPlan::uniform(keys, 16);
  return p;
}

MergeProblem merge() {
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {3, 1, 16});
  p.lse = Tensor::dense(Format::f32, {3, 1});
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t j = 0; j < 16; ++j) p.o.set({c, 0, j}, static_cast<double>(c + j));
    p.lse.set({c, 0}, 0);
  }
  p.order = {0, 1, 2};
  return p;
}

constexpr const char* kBlock = "softmax.online_block.hardened";
constexpr const char* kTwoPass = "softmax.online_two_pass.hardened";
constexpr const char* kAttention = "attention.deferred.hardened";
constexpr const char* kMerge = "merge.pairwise_stable.hardened";

TEST(PlantedRaces, complete_kernels_are_clean) {
  EXPECT_THAT(races(kBlock, cpu_planted::launch_online_block<SoftmaxHardened>, row(300), planted::kNone), SizeIs(0));
  EXPECT_THAT(races(kTwoPass, cpu_planted::launch_online_two_pass<SoftmaxHardened>, row(300), planted::kNone),
              SizeIs(0));
  EXPECT_THAT(races(kMerge, cpu_planted::launch_fold<cpu_planted::Stable>, merge(), planted::kNone), SizeIs(0));
  EXPECT_THAT(races(kAttention, cpu_planted::launch_attention_deferred<AttentionHardened>, attention(), planted::kNone),
              SizeIs(0));
}

TEST(PlantedRaces, no_barrier_before_the_tree) {
  const auto found = races(kBlock, cpu_planted::launch_online_block<SoftmaxHardened>, row(300), 0);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found, Contains(Field(&simt::Race::text, HasSubstr("race on smem_m + "))));
  EXPECT_THAT(found[0].text, HasSubstr("kernels/softmax/online_block.h:"));
  EXPECT_THAT(found[0].text, HasSubstr("of block (0, 0, 0)"));
}

TEST(PlantedRaces, no_barrier_in_one_step_of_the_tree) {
  // 512 threads: after the first barrier one per halving, 256 to 1.
  for (int step = 1; step <= 9; ++step) {
    EXPECT_FALSE(races(kBlock, cpu_planted::launch_online_block<SoftmaxHardened>, row(600), step).empty()) << step;
  }
}

TEST(PlantedRaces, no_barrier_before_or_after_a_reduction) {
  // 300 columns in chunks of 100: three chunks, two reductions each, two barriers each. After the last nobody writes.
  for (int which = 0; which < 11; ++which) {
    EXPECT_FALSE(races(kTwoPass, cpu_planted::launch_online_two_pass<SoftmaxHardened>, row(300), which).empty())
        << which;
  }
}

TEST(PlantedRaces, no_barrier_after_the_factors_of_a_merge) {
  const auto found = races(kMerge, cpu_planted::launch_fold<cpu_planted::Stable>, merge(), 0);
  EXPECT_THAT(found, Contains(Field(&simt::Race::memory, HasSubstr("dynamic shared memory"))));
}

TEST(PlantedRaces, no_barrier_before_or_after_the_tile_load) {
  // Four per chunk: before and after its keys are loaded, before and after its values are. Nobody has used the tile before
  // the first one.
  EXPECT_TRUE(races(kAttention, cpu_planted::launch_attention_deferred<AttentionHardened>, attention(), 0).empty());
  for (int which = 1; which < 12; ++which) {
    EXPECT_FALSE(
        races(kAttention, cpu_planted::launch_attention_deferred<AttentionHardened>, attention(), which).empty())
        << which;
  }
}

TEST(PlantedRaces, no_barrier_in_the_loop_of_a_backward_kernel) {
  // Three per tile: before it is loaded, before P and dS are computed, before they are used. Nobody has used the tile
  // before the first one. Two key tiles are one block of the first loop, barriers 0 to 5; two query tiles are two blocks
  // there, three barriers each, and one block of the second loop, barriers 6 to 11.
  const BackwardProblem two_key_tiles = gradient(16, 24);
  const BackwardProblem two_query_tiles = gradient(24, 16);
  for (const BackwardProblem& problem : {two_key_tiles, two_query_tiles}) {
    EXPECT_THAT(gradient_races(problem, planted::kNone), SizeIs(0));
  }
  EXPECT_THAT(gradient_races(two_key_tiles, 0), SizeIs(0));
  EXPECT_THAT(gradient_races(two_query_tiles, 6), SizeIs(0));
  for (int which = 1; which < 6; ++which) {
    EXPECT_FALSE(gradient_races(two_key_tiles, which).empty()) << which;
    const auto found = gradient_races(two_query_tiles, 6 + which);
    ASSERT_FALSE(found.empty()) << which;
    EXPECT_THAT(found, Contains(Field(&simt::Race::memory, HasSubstr("dynamic shared memory")))) << which;
    EXPECT_THAT(found, Contains(Field(&simt::Race::text, HasSubstr("kernels/attention_backward/")))) << which;
  }
}

}  // namespace
}  // namespace flashproof
