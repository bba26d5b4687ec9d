// The executor as a kernel sees it: indices, shared memory, atomics, arithmetic, launches.
#include "kernels/simt/simt.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "reference/system/error.h"

namespace flashproof::cpu {
namespace {

__global__ void index_kernel(
    std::vector<std::tuple<unsigned, unsigned, unsigned, unsigned, unsigned, unsigned>>* seen) {
  EXPECT_EQ(blockDim.x * 100 + blockDim.y * 10 + blockDim.z, 534u);
  EXPECT_EQ(gridDim.x * 100 + gridDim.y * 10 + gridDim.z, 243u);
  __syncthreads();  // indices must come back after a switch
  seen->emplace_back(blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}

TEST(Launch, EveryThreadOnceWithItsIndices) {
  for (const char* schedule : {"fifo", "lifo", "random:9", "bytes:05"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    std::vector<std::tuple<unsigned, unsigned, unsigned, unsigned, unsigned, unsigned>> seen;
    launch(index_kernel, dim3(2, 4, 3), dim3(5, 3, 4), 0, {}, &seen);
    EXPECT_EQ(seen.size(), 2u * 4 * 3 * 5 * 3 * 4);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), seen.size());
    for (const auto& [bx, by, bz, tx, ty, tz] : seen) {
      EXPECT_TRUE(bx < 2 && by < 4 && bz < 3 && tx < 5 && ty < 3 && tz < 4);
    }
  }
}

__global__ void linear_lane_kernel(unsigned* ballot) {
  // Lanes count x fastest: the first warp of an 8 x 8 block is its rows 0 to 3.
  const unsigned mine = __ballot_sync(0xffffffffu, threadIdx.y % 4 == 1);
  ballot[threadIdx.y * 8 + threadIdx.x] = mine;
}

TEST(Launch, WarpsAreCutXFastest) {
  std::vector<unsigned> ballot(64);
  launch(linear_lane_kernel, 1, dim3(8, 8), 0, {}, ballot.data());
  for (const unsigned b : ballot) EXPECT_EQ(b, 0x0000ff00u);
}

__global__ void block_sum_kernel(const int* in, int* out) {
  FP_DYNAMIC_SHARED(int, work);
  work[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) work[threadIdx.x] += work[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = work[0];
}

TEST(Launch, BigBlocksAndManyBlocks) {
  constexpr unsigned kBlocks = 40, kThreads = 1024;
  std::vector<int> in(kBlocks * kThreads), out(kBlocks, -1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i % 1000);
  for (const char* schedule : {"fifo", "lifo", "random:1"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    launch(block_sum_kernel, kBlocks, kThreads, kThreads * sizeof(int), {}, in.data(), out.data());
    for (std::size_t b = 0; b < kBlocks; ++b) {
      int sum = 0;
      for (std::size_t t = 0; t < kThreads; ++t) sum += in[b * kThreads + t];
      ASSERT_EQ(out[b], sum);
    }
  }
}

struct Parameters {
  int* out;
  std::uint8_t padding[100];
  int last;
};

__global__ void parameter_kernel(Parameters p, float x, const int* none) {
  p.last += static_cast<int>(threadIdx.x);  // every thread has a copy of its own
  __syncthreads();
  p.out[threadIdx.x] = p.last + static_cast<int>(x) + (none == nullptr ? 0 : 1000);
}

TEST(Launch, ParametersByValue) {
  std::vector<int> out(8);
  launch(parameter_kernel, 1, 8, 0, {}, Parameters{out.data(), {}, 10}, 2, nullptr);
  for (std::size_t t = 0; t < 8; ++t) EXPECT_EQ(out[t], 12 + static_cast<int>(t));
}

__global__ void count_kernel(int* count) { atomicAdd(count, 1); }

TEST(Launch, EmptyGridRunsNothing) {
  int count = 0;
  launch(count_kernel, 0, 32, 0, {}, &count);
  launch(count_kernel, dim3(3, 0, 2), 32, 0, {}, &count);
  launch(count_kernel, dim3(3, 2, 0), 32, 0, {}, &count);
  EXPECT_EQ(count, 0);
  launch(count_kernel, dim3(3, 2), 32, 0, {}, &count);
  EXPECT_EQ(count, 192);
}

TEST(Launch, RefusesAWrongFloatingPointStateAndRestoresTheCallers) {
  int count = 0;
  const unsigned saved = _mm_getcsr();
  for (const unsigned bit : {0x8000u, 0x0040u, 0x2000u, 0x4000u}) {
    _mm_setcsr(saved | bit);
    EXPECT_THROW(launch(count_kernel, 1, 1, 0, {}, &count), InfrastructureError);
    EXPECT_EQ(_mm_getcsr(), saved | bit);
  }
  const unsigned without_flags = saved & ~0x3fu;
  _mm_setcsr(without_flags);
  launch(count_kernel, 1, 1, 0, {}, &count);
  EXPECT_EQ(_mm_getcsr(), without_flags);
  _mm_setcsr(saved);
  EXPECT_EQ(count, 1);
}

__global__ void launch_elsewhere_kernel(int* refused) {
  std::thread([refused] {
    int ignored = 0;
    try {
      launch(count_kernel, 1, 1, 0, {}, &ignored);
    } catch (const InfrastructureError&) {
      *refused = 1;
    }
  }).join();
}

TEST(Launch, OneOperatingSystemThreadAtATime) {
  int refused = 0;
  launch(launch_elsewhere_kernel, 1, 1, 0, {}, &refused);
  EXPECT_EQ(refused, 1);
  int count = 0;  // in turn is fine: the fibers move to the other thread
  std::thread([&count] { launch(count_kernel, 2, 64, 0, {}, &count); }).join();
  launch(count_kernel, 2, 64, 0, {}, &count);
  EXPECT_EQ(count, 256);
}

__global__ void atomics_kernel(int* i, unsigned* u, unsigned long long* l, float* f) {
  const int t = static_cast<int>(threadIdx.x);
  atomicAdd(&i[0], -t);
  atomicMax(&i[1], t);
  atomicMin(&i[2], -t);
  atomicAdd(&u[0], 1u);
  atomicMax(&u[1], 0x80000000u + threadIdx.x);
  atomicMin(&u[2], 0x80000000u + threadIdx.x);
  atomicAdd(&l[0], 1ull << 32);
  atomicAdd(&f[0], 0.5f);
  if (atomicCAS(&i[3], 0, t + 1) == 0) atomicAdd(&i[4], 1);  // one thread wins
  if (atomicExch(&u[3], 1u) == 0) atomicAdd(&i[5], 1);
}

TEST(Atomics, Results) {
  std::vector<int> i(6, 0);
  std::vector<unsigned> u{0, 0, 0xffffffffu, 0};
  std::vector<unsigned long long> l(1, 0);
  std::vector<float> f(1, 0);
  launch(atomics_kernel, 1, 100, 0, {}, i.data(), u.data(), l.data(), f.data());
  EXPECT_EQ(i, (std::vector<int>{-4950, 99, -99, 1, 1, 1}));
  EXPECT_EQ(u, (std::vector<unsigned>{100, 0x80000063u, 0x80000000u, 1}));
  EXPECT_EQ(l[0], 100ull << 32);
  EXPECT_EQ(f[0], 50.0f);
}

TEST(Intrinsics, OneRoundingEach) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the product rounds the last term away, the fused form keeps it.
  volatile float a = 1.0f + 0x1p-12f;
  const float product = __fmul_rn(a, a);
  EXPECT_EQ(__fadd_rn(product, -(1.0f + 0x1p-11f)), 0.0f);
  EXPECT_EQ(__fsub_rn(__fmul_rn(a, a), 1.0f + 0x1p-11f), 0.0f);
  EXPECT_EQ(__fmaf_rn(a, a, -(1.0f + 0x1p-11f)), 0x1p-24f);
  volatile float three = 3.0f, two = 2.0f;
  EXPECT_EQ(__fdiv_rn(1.0f, three), 0x1.555556p-2f);
  EXPECT_EQ(__frcp_rn(three), 0x1.555556p-2f);
  EXPECT_EQ(__fsqrt_rn(two), 0x1.6a09e6p+0f);
  EXPECT_TRUE(std::isnan(__fsqrt_rn(-two)));
  EXPECT_EQ(__float_as_int(-0.0f), std::numeric_limits<int>::min());
  EXPECT_EQ(__uint_as_float(0x7f800000u), std::numeric_limits<float>::infinity());
  EXPECT_EQ(__int_as_float(__float_as_int(1.5f)), 1.5f);
  EXPECT_EQ(__float_as_uint(1.0f), 0x3f800000u);
  EXPECT_EQ(__popc(0xf0u) * 100 + __clz(1) + __ffs(0), 431);
  EXPECT_EQ(min(3, -4) + max(3u, 4u), 0u);
}

}  // namespace
}  // namespace flashproof::cpu
