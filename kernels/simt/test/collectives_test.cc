// Shuffles, votes and barriers against their definition, written here a second time and lane by lane.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/simt.h"

namespace flashproof::cpu {
namespace {

enum class Kind { idx, up, down, exclusive };

constexpr unsigned kFull = 0xffffffffu;

template <class T>
__global__ void shuffle_kernel(Kind kind, int operand, int width, const T* in, T* out) {
  const unsigned t = threadIdx.x;
  const T v = in[t];
  switch (kind) {
    case Kind::idx:
      out[t] = __shfl_sync(kFull, v, operand, width);
      break;
    case Kind::up:
      out[t] = __shfl_up_sync(kFull, v, static_cast<unsigned>(operand), width);
      break;
    case Kind::down:
      out[t] = __shfl_down_sync(kFull, v, static_cast<unsigned>(operand), width);
      break;
    case Kind::exclusive:
      out[t] = __shfl_xor_sync(kFull, v, operand, width);
      break;
  }
}

// The CUDA C++ programming guide's words: groups of `width` lanes, each with logical lane 0..width-1.
int expected_source(Kind kind, int lane, int operand, int width) {
  const int group = lane / width;
  const int logical = lane % width;
  switch (kind) {
    case Kind::idx:
      return group * width + operand % width;
    case Kind::up:
      return logical - operand < 0 ? lane : lane - operand;
    case Kind::down:
      return logical + operand >= width ? lane : lane + operand;
    case Kind::exclusive: {
      const int source = lane ^ operand;
      return source / width > group ? lane : source;  // later groups are out of reach, earlier ones are not
    }
  }
  return -1;
}

template <class T>
void check_every_shuffle() {
  constexpr int kThreads = 64;  // two warps: nothing may cross
  std::vector<T> in(kThreads), out(kThreads);
  for (int t = 0; t < kThreads; ++t) in[static_cast<std::size_t>(t)] = static_cast<T>(1000) + static_cast<T>(t);
  for (const Kind kind : {Kind::idx, Kind::up, Kind::down, Kind::exclusive}) {
    for (int width = 1; width <= 32; width *= 2) {
      for (int operand = 0; operand < 32; ++operand) {
        launch(shuffle_kernel<T>, 1, kThreads, 0, {}, kind, operand, width, in.data(), out.data());
        for (int t = 0; t < kThreads; ++t) {
          const int source = t / 32 * 32 + expected_source(kind, t % 32, operand, width);
          ASSERT_EQ(out[static_cast<std::size_t>(t)], in[static_cast<std::size_t>(source)])
              << "kind " << static_cast<int>(kind) << " width " << width << " operand " << operand << " thread " << t;
        }
      }
    }
  }
}

TEST(Shuffle, EveryKindWidthAndOperandFloat) { check_every_shuffle<float>(); }
TEST(Shuffle, EveryKindWidthAndOperandInt) { check_every_shuffle<int>(); }
TEST(Shuffle, EveryKindWidthAndOperandDouble) { check_every_shuffle<double>(); }
TEST(Shuffle, EveryKindWidthAndOperandUnsignedLongLong) { check_every_shuffle<unsigned long long>(); }

TEST(Shuffle, KeepsEveryBitOfANan) {
  std::vector<float> in(32, std::bit_cast<float>(0x7fa12345u)), out(32);
  launch(shuffle_kernel<float>, 1, 32, 0, {}, Kind::exclusive, 1, 32, in.data(), out.data());
  for (const float x : out) EXPECT_EQ(std::bit_cast<unsigned>(x), 0x7fa12345u);
}

// Back-to-back shuffles: a lane that runs ahead deposits anew before the slow ones have read.
__global__ void tree_kernel(const int* in, int* out) {
  int v = in[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(kFull, v, offset);
  out[threadIdx.x] = v;
}

TEST(Shuffle, BackToBackUnderEverySchedule) {
  std::vector<int> in(128), out(128);
  for (int t = 0; t < 128; ++t) in[static_cast<std::size_t>(t)] = t * t;
  for (const char* schedule : {"fifo", "lifo", "random:1", "random:2", "bytes:00ff3a77"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    launch(tree_kernel, 1, 128, 0, {}, in.data(), out.data());
    for (int t = 0; t < 128; ++t) {
      int sum = 0;
      for (int lane = 0; lane < 32; ++lane)
        sum += in[static_cast<std::size_t>(t) / 32 * 32 + static_cast<std::size_t>(lane)];
      ASSERT_EQ(out[static_cast<std::size_t>(t)], sum) << schedule;
    }
  }
}

__global__ void half_warps_kernel(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // The two halves of a warp are in different collectives at the same time, each with its own mask.
  if (lane < 16) {
    int v = lane;
    for (int offset = 8; offset > 0; offset /= 2) v += __shfl_xor_sync(0x0000ffffu, v, offset);
    out[threadIdx.x] = v;
  } else {
    const unsigned odd = __ballot_sync(0xffff0000u, lane % 2);
    __syncwarp(0xffff0000u);
    out[threadIdx.x] = static_cast<int>(odd);
  }
}

TEST(Masks, DisjointPartsOfOneWarp) {
  std::vector<int> out(64, -1);
  launch(half_warps_kernel, 1, 64, 0, {}, out.data());
  for (std::size_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], t % 32 < 16 ? 120 : static_cast<int>(0xaaaa0000u));
}

// Lane 1 first meets lane 2, then lane 0, while lane 0 is already waiting: overlapping masks are legal.
__global__ void overlapping_masks_kernel(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  int v = lane + 1;
  if (lane == 1 || lane == 2) v += __shfl_xor_sync(0x6u, v, 3);
  if (lane == 0 || lane == 1) v += __shfl_xor_sync(0x3u, v, 1);
  out[lane] = v;
}

TEST(Masks, OverlappingInTurn) {
  for (const char* schedule : {"fifo", "lifo", "random:5"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    std::vector<int> out(32, -1);
    launch(overlapping_masks_kernel, 1, 32, 0, {}, out.data());
    EXPECT_EQ(out[0], 6) << schedule;  // 1 + (2 + 3)
    EXPECT_EQ(out[1], 6) << schedule;
    EXPECT_EQ(out[2], 5) << schedule;
  }
}

__global__ void outside_mask_kernel(float* out) {
  if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0xfu, 1.0f, 5);
}

TEST(Masks, ReadingALaneOutsideTheMaskGivesNan) {
  std::vector<float> out(4, 0);
  launch(outside_mask_kernel, 1, 32, 0, {}, out.data());
  for (const float x : out) EXPECT_TRUE(std::isnan(x));
}

__global__ void short_warp_kernel(float* read, unsigned* ballot) {
  const unsigned t = threadIdx.x;
  __syncwarp();
  ballot[t] = __ballot_sync(kFull, 1);
  read[t] = __shfl_down_sync(kFull, static_cast<float>(t), 4);
}

TEST(Masks, LanesThatNeverExistedAreNotWaitedFor) {
  std::vector<float> read(42, -1);
  std::vector<unsigned> ballot(42);
  launch(short_warp_kernel, 1, 42, 0, {}, read.data(), ballot.data());
  for (std::size_t t = 0; t < 42; ++t) {
    EXPECT_EQ(ballot[t], t < 32 ? kFull : 0x3ffu);
    if (t >= 32 && t + 4 >= 42) {
      EXPECT_TRUE(std::isnan(read[t]));
    } else {
      EXPECT_EQ(read[t], static_cast<float>(t < 32 && t % 32 + 4 >= 32 ? t : t + 4));
    }
  }
}

__global__ void vote_kernel(std::uint32_t true_lanes, std::uint32_t mask, unsigned* out) {
  const unsigned lane = threadIdx.x;
  if ((mask >> lane & 1) == 0) return;
  const int predicate = static_cast<int>(true_lanes >> lane & 1) * 6;  // any value but zero is true
  out[lane * 3] = __ballot_sync(mask, predicate);
  out[lane * 3 + 1] = static_cast<unsigned>(__any_sync(mask, predicate));
  out[lane * 3 + 2] = static_cast<unsigned>(__all_sync(mask, predicate));
}

TEST(Vote, AgainstDefinition) {
  for (const std::uint32_t mask : {kFull, 1u, 0x80000001u, 0x00ff00ffu}) {
    for (const std::uint32_t lanes : {0u, kFull, 1u, 0x80000000u, 0x00ff00ffu, 0xfffffffeu, 0x12345678u}) {
      std::vector<unsigned> out(96, 77);
      launch(vote_kernel, 1, 32, 0, {}, lanes, mask, out.data());
      for (std::size_t lane = 0; lane < 32; ++lane) {
        if ((mask >> lane & 1) == 0) {
          EXPECT_EQ(out[lane * 3], 77u);
          continue;
        }
        EXPECT_EQ(out[lane * 3], lanes & mask);
        EXPECT_EQ(out[lane * 3 + 1], (lanes & mask) != 0 ? 1u : 0u);
        EXPECT_EQ(out[lane * 3 + 2], (lanes & mask) == mask ? 1u : 0u);
      }
    }
  }
}

__global__ void barrier_vote_kernel(unsigned below, int* out) {
  const int predicate = threadIdx.x < below ? 2 : 0;
  out[threadIdx.x * 3] = __syncthreads_count(predicate);
  out[threadIdx.x * 3 + 1] = __syncthreads_or(predicate);
  out[threadIdx.x * 3 + 2] = __syncthreads_and(predicate);
}

TEST(Vote, OverTheBlock) {
  for (const unsigned below : {0u, 1u, 50u, 99u, 100u}) {
    std::vector<int> out(300, -1);
    launch(barrier_vote_kernel, 1, 100, 0, {}, below, out.data());
    for (std::size_t t = 0; t < 100; ++t) {
      EXPECT_EQ(out[t * 3], static_cast<int>(below));
      EXPECT_EQ(out[t * 3 + 1], below > 0 ? 1 : 0);
      EXPECT_EQ(out[t * 3 + 2], below == 100 ? 1 : 0);
    }
  }
}

// Every phase reads what all threads wrote in the phase before; some exit early and must not hold the barrier up.
__global__ void phases_kernel(int phases, int* out) {
  FP_SHARED(int, count, 2);
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) count[0] = 0;
  __syncthreads();
  for (int phase = 0; phase < phases; ++phase) {
    if (t % 7 == 3 && phase == t % 5) return;
    atomicAdd(&count[phase % 2], 1);
    __syncthreads();
    out[phase * static_cast<int>(blockDim.x) + t] = count[phase % 2];
    if (t == 0) count[(phase + 1) % 2] = 0;
    __syncthreads();
  }
}

TEST(Barrier, ExitedThreadsDoNotBlockIt) {
  constexpr int kThreads = 96, kPhases = 8;
  for (const char* schedule : {"fifo", "lifo", "random:3", "bytes:0102030405"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    std::vector<int> out(kThreads * kPhases, -1);
    launch(phases_kernel, 1, kThreads, 0, {}, kPhases, out.data());
    for (int phase = 0; phase < kPhases; ++phase) {
      int present = 0;
      for (int t = 0; t < kThreads; ++t) present += t % 7 == 3 && phase >= t % 5 ? 0 : 1;
      for (int t = 0; t < kThreads; ++t) {
        const bool gone = t % 7 == 3 && phase >= t % 5;
        ASSERT_EQ(out[static_cast<std::size_t>(phase * kThreads + t)], gone ? -1 : present) << schedule << phase;
      }
    }
  }
}

}  // namespace
}  // namespace flashproof::cpu
