// The race shadow on small kernels: each bug beside its correct twin. This file is instrumented (simt/shadow/shadow.h).
#define FP_EXECUTOR cpu_shadow_test
#include "kernels/simt/shadow/shadow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

namespace flashproof::cpu_shadow_test {
namespace {

using testing::HasSubstr;

constexpr int kThreads = 64;

struct Memory {
  std::array<float, 256> out{};
  std::array<int, 16> flags{};
  std::array<std::uint16_t, 64> halves{};
  std::array<std::uint8_t, 64> bytes{};
};

/// The races of one launch of `blocks` blocks.
std::vector<simt::Race> races(void (*kernel)(Memory*), unsigned blocks = 1, const char* schedule = "fifo") {
  Memory memory;
  const simt::ScopedSchedule scoped(simt::parse_schedule(schedule));
  simt::ScopedShadow shadow;
  shadow.watch("out", simt::Global::output, memory.out.data(), sizeof memory.out, 4);
  shadow.watch("flags", simt::Global::output, memory.flags.data(), sizeof memory.flags, 4);
  shadow.watch("halves", simt::Global::output, memory.halves.data(), sizeof memory.halves, 2);
  shadow.watch("bytes", simt::Global::output, memory.bytes.data(), sizeof memory.bytes, 1);
  launch(kernel, blocks, kThreads, 0, {}, &memory);
  EXPECT_GT(shadow.accesses(), 0U);
  return shadow.races();
}

#define EXPECT_RACE(...) EXPECT_FALSE(races(__VA_ARGS__).empty())
#define EXPECT_CLEAN(...)                                                   \
  for (const char* schedule : {"fifo", "lifo", "random:1", "random:2/4"}) { \
    const auto found = races(__VA_ARGS__, schedule);                        \
    EXPECT_TRUE(found.empty()) << schedule << ": " << found.front().text;   \
  }

int thread() { return static_cast<int>(threadIdx.x); }

// Neighbours exchange through shared memory.
template <int kSync>  // 0: nothing, 1: barrier, 2: __syncwarp, 3: __syncwarp of 8 lanes, 4: a shuffle, 5: a vote
__global__ void exchange(Memory* m) {
  FP_SHARED(int, s, kThreads);
  s[thread()] = thread();
  const unsigned eight = 0xffU << (thread() % 32 / 8 * 8);
  if constexpr (kSync == 1) __syncthreads();
  if constexpr (kSync == 2) __syncwarp();
  if constexpr (kSync == 3) __syncwarp(eight);
  if constexpr (kSync == 4) m->out[thread()] = __shfl_xor_sync(0xffffffffU, 1.0F, 1);
  if constexpr (kSync == 5) m->out[thread()] = static_cast<float>(__ballot_sync(0xffffffffU, 1));
  m->out[64 + thread()] = static_cast<float>(s[thread() ^ 1]);
}

TEST(Shadow, only_barriers_order) {
  EXPECT_RACE(exchange<0>);
  EXPECT_CLEAN(exchange<1>, 1);
  EXPECT_CLEAN(exchange<2>, 1);
  EXPECT_CLEAN(exchange<3>, 1);
  EXPECT_RACE(exchange<4>);
  EXPECT_RACE(exchange<5>);
}

// Lane 8 g + 7 writes, the next group of eight reads: in one warp, but not in one mask.
template <bool kWhole>
__global__ void across_masks(Memory* m) {
  FP_SHARED(int, s, kThreads);
  s[thread()] = thread();
  __syncwarp(0xffU << (thread() % 32 / 8 * 8));
  if constexpr (kWhole) __syncwarp();
  m->out[thread()] = static_cast<float>(s[(thread() + 8) % 32 + thread() / 32 * 32]);
}

// A chain of masks: 0-15 join, then 8-23, so 16-23 know what 0-7 did; 24-31 do not.
template <int kReader>
__global__ void chained_masks(Memory* m) {
  FP_SHARED(int, s, kThreads);
  if (thread() >= 32) return;
  s[thread()] = thread();
  if (thread() < 16) __syncwarp(0x0000ffff);
  if (thread() >= 8 && thread() < 24) __syncwarp(0x00ffff00);
  if (thread() == kReader) m->out[0] = static_cast<float>(s[0]);
}

TEST(Shadow, a_mask_orders_its_lanes_and_what_they_know) {
  EXPECT_RACE(across_masks<false>);
  EXPECT_CLEAN(across_masks<true>, 1);
  EXPECT_CLEAN(chained_masks<20>, 1);
  EXPECT_RACE(chained_masks<28>);
}

// Readers of one cell in one warp, then a writer that only some of them have met.
template <unsigned kMask>
__global__ void write_after_reads(Memory* m) {
  FP_SHARED(int, s, 1);
  if (thread() == 0) s[0] = 1;
  __syncthreads();
  if (thread() < 4) m->out[thread()] = static_cast<float>(s[0]);
  if ((kMask >> (thread() % 32) & 1) != 0) __syncwarp(kMask);
  if (thread() == 1) s[0] = 2;
}
// All threads read, then one writes: a barrier is enough, a warp barrier is not.
template <bool kBlock>
__global__ void write_after_all_read(Memory* m) {
  FP_SHARED(int, s, 1);
  if (thread() == 0) s[0] = 1;
  __syncthreads();
  m->out[thread()] = static_cast<float>(s[0]);
  if constexpr (kBlock) __syncthreads();
  __syncwarp();
  if (thread() == 5) s[0] = 2;
}

TEST(Shadow, a_write_needs_every_reader_before_it) {
  EXPECT_CLEAN(write_after_reads<0xf>, 1);
  EXPECT_RACE(write_after_reads<0x3>);
  EXPECT_RACE(write_after_reads<0xb>);
  EXPECT_CLEAN(write_after_all_read<true>, 1);
  EXPECT_RACE(write_after_all_read<false>);
}

__global__ void plain_sum(Memory* m) { m->out[0] += 1.0F; }
__global__ void atomic_sum(Memory* m) { atomicAdd(&m->out[0], 1.0F); }
template <bool kBarrier>
__global__ void atomic_then_read(Memory* m) {
  atomicAdd(&m->flags[blockIdx.x], 1);
  if constexpr (kBarrier) __syncthreads();
  m->out[64 * blockIdx.x + threadIdx.x] = static_cast<float>(m->flags[blockIdx.x]);
}

TEST(Shadow, atomics_race_with_plain_accesses_only) {
  EXPECT_RACE(plain_sum);
  EXPECT_CLEAN(atomic_sum, 3);
  EXPECT_RACE(atomic_then_read<false>);
  EXPECT_CLEAN(atomic_then_read<true>, 3);
}

__global__ void one_output_per_block(Memory* m) {
  if (thread() == 0) m->out[blockIdx.x] = 1.0F;
}
__global__ void one_output_of_two_blocks(Memory* m) {
  if (thread() == 0) m->out[blockIdx.x / 2] = 1.0F;
}

TEST(Shadow, blocks_are_not_ordered) {
  EXPECT_CLEAN(one_output_per_block, 4);
  const auto found = races(one_output_of_two_blocks, 2);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text, HasSubstr("race on out + 0 bytes: thread 0 of block (1, 0, 0) writes here, thread 0 of "
                                       "block (0, 0, 0) wrote at "));
#if defined(FLASHPROOF_BACKTRACE)
  EXPECT_THAT(found[0].text, testing::StartsWith("kernels/simt/shadow/shadow_test.cc:"));
#endif
}

TEST(Shadow, launches_are_ordered) {
  Memory memory;
  simt::ScopedShadow shadow;
  shadow.watch("out", simt::Global::output, memory.out.data(), sizeof memory.out, 4);
  for (int i = 0; i < 2; ++i) launch(one_output_per_block, 4, kThreads, 0, {}, &memory);
  EXPECT_EQ(shadow.race_count(), 0U);
  EXPECT_GT(shadow.accesses(), 0U);
}

// Message passing: the last block to arrive sums what the others wrote.
template <int kFences>  // bit 0: the writer's, bit 1: the reader's, bit 2: only for the block
__global__ void last_block_sums(Memory* m) {
  FP_SHARED(int, last, 1);
  if (thread() == 0) {
    m->out[blockIdx.x] = 1.0F;
    if constexpr ((kFences & 1) != 0) {
      if constexpr ((kFences & 4) != 0) {
        __threadfence_block();
      } else {
        __threadfence();
      }
    }
    last[0] = atomicAdd(&m->flags[0], 1) + 1 == static_cast<int>(gridDim.x);
    if constexpr ((kFences & 2) != 0) __threadfence();
  }
  __syncthreads();
  if (last[0] != 0 && thread() < static_cast<int>(gridDim.x)) m->out[64 + thread()] = m->out[thread()];
}

TEST(Shadow, fences_and_atomics_pass_messages_between_blocks) {
  EXPECT_CLEAN(last_block_sums<3>, 4);
  EXPECT_RACE(last_block_sums<0>, 4);
  EXPECT_RACE(last_block_sums<1>, 4);
  EXPECT_RACE(last_block_sums<2>, 4);
  EXPECT_RACE(last_block_sums<7>, 4);
}

__global__ void halves_side_by_side(Memory* m) { m->halves[threadIdx.x] = 1; }
__global__ void bytes_side_by_side(Memory* m) { m->bytes[threadIdx.x] = 1; }
__global__ void half_over_word(Memory* m) {
  if (thread() == 0) m->flags[0] = 1;
  if (thread() == 1) storage::store_bits<std::uint16_t>(m->flags.data(), 1, 1);
}
__global__ void half_beside_word(Memory* m) {
  if (thread() == 0) m->flags[0] = 1;
  if (thread() == 1) storage::store_bits<std::uint16_t>(m->flags.data(), 2, 1);
}
__global__ void float4_over_float(Memory* m) {
  if (thread() == 0) m->out[3] = 1.0F;
  if (thread() == 1) m->flags[0] = load_f32x4(m->out.data()).w > 0.0F ? 1 : 0;
}

TEST(Shadow, bytes_are_told_apart) {
  EXPECT_CLEAN(halves_side_by_side, 1);
  EXPECT_CLEAN(bytes_side_by_side, 1);
  EXPECT_RACE(half_over_word);
  EXPECT_CLEAN(half_beside_word, 1);
  EXPECT_RACE(float4_over_float);
}

// Asynchronous copies, as their emulation announces them.
template <bool kWait, bool kBarrier>
__global__ void copies(Memory* m) {
  FP_SHARED(int, s, kThreads);
  simt::shadow_async_write(&s[thread()], 4);
  simt::shadow_async_commit();
  if constexpr (kWait) simt::shadow_async_wait(0);
  if constexpr (kBarrier) __syncthreads();
  m->out[thread()] = static_cast<float>(s[kBarrier ? thread() ^ 1 : thread()]);
}
// Two groups under way: waiting for all but one completes the older.
template <int kRead>
__global__ void two_groups(Memory* m) {
  FP_SHARED(int, s, 2 * kThreads);
  simt::shadow_async_write(&s[thread()], 4);
  simt::shadow_async_commit();
  simt::shadow_async_write(&s[kThreads + thread()], 4);
  simt::shadow_async_commit();
  simt::shadow_async_wait(1);
  __syncthreads();
  m->out[thread()] = static_cast<float>(s[kRead * kThreads + (thread() ^ 1)]);
}

TEST(Shadow, a_copy_is_under_way_until_its_thread_waits) {
  EXPECT_CLEAN((copies<true, true>), 1);
  EXPECT_CLEAN((copies<true, false>), 1);
  EXPECT_RACE((copies<false, true>));
  EXPECT_RACE((copies<false, false>));
  EXPECT_CLEAN(two_groups<0>, 1);
  EXPECT_RACE(two_groups<1>);
}

__global__ void writes_input(float* x) {
  if (threadIdx.x == 0) x[3] = 1.0F;
}

TEST(Shadow, an_input_may_not_be_written) {
  std::array<float, 8> x{};
  simt::ScopedShadow shadow;
  shadow.watch("x", simt::Global::input, x.data(), sizeof x, 4);
  launch(writes_input, 1, kThreads, 0, {}, x.data());
  ASSERT_EQ(shadow.races().size(), 1U);
  EXPECT_THAT(shadow.races()[0].text, HasSubstr("thread 0 of block (0, 0, 0) writes the input x + 12 bytes"));
}

// Traffic: 64 threads read their own two elements and one that all share, each in a loop, and write one.
__global__ void reads_and_writes(const float* x, float* y) {
  float sum = 0.0F;
  for (int i = 0; i < 2; ++i) {
    sum += x[threadIdx.x + 64 * i] + x[128];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

TEST(Shadow, counts_traffic) {
  std::array<float, 130> x{};
  std::array<float, 100> y{};
  simt::ScopedShadow shadow({.races = false, .traffic = true});
  shadow.watch("x", simt::Global::input, x.data(), sizeof x, 4);
  shadow.watch("y", simt::Global::output, y.data(), sizeof y, 4);
  launch(reads_and_writes, 1, 64, 0, {}, x.data(), y.data());
  const auto traffic = shadow.traffic();
  ASSERT_EQ(traffic.size(), 2U);
  EXPECT_EQ(traffic[0].name, "x");
  EXPECT_EQ(traffic[0].elements, 130U);
  EXPECT_EQ(traffic[0].loads, 256U);
  EXPECT_EQ(traffic[0].merged_loads, 130U);
  EXPECT_EQ(traffic[0].touched_loads, 129U);
  EXPECT_EQ(traffic[0].stores, 0U);
  EXPECT_EQ(traffic[1].loads, 0U);
  EXPECT_EQ(traffic[1].stores, 64U);
  EXPECT_EQ(traffic[1].merged_stores, 64U);
  EXPECT_EQ(traffic[1].touched_stores, 64U);
}

// A lost update that no order of whole runs between barriers shows: only a switch between the load and the store does.
__global__ void lost_update(Memory* m) {
  const int before = m->flags[0];
  m->flags[0] = before + 1;
}

TEST(Preemption, shows_a_lost_update_and_repeats) {
  const auto result = [](const char* schedule) {
    Memory memory;
    const simt::ScopedSchedule scoped(simt::parse_schedule(schedule));
    simt::ScopedShadow shadow({.races = false});
    shadow.watch("flags", simt::Global::output, memory.flags.data(), sizeof memory.flags, 4);
    launch(lost_update, 1, kThreads, 0, {}, &memory);
    return memory.flags[0];
  };
  for (const char* schedule : {"fifo", "lifo", "random:1", "random:2"}) EXPECT_EQ(result(schedule), kThreads);
  EXPECT_LT(result("random:1/2"), kThreads);
  EXPECT_EQ(result("random:1/2"), result("random:1/2"));
}

// One thread fails while others were preempted: all of them end, destructors run.
int alive = 0;
struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
};
__global__ void fails_in_the_middle(Memory* m) {
  const Counted counted;
  m->flags[threadIdx.x % 16] = 1;
  if (threadIdx.x == 40) throw std::runtime_error("planted");
  m->flags[threadIdx.x % 16] = 2;
  __syncthreads();
  m->flags[threadIdx.x % 16] = 3;
}

TEST(Preemption, survives_a_failing_thread) {
  for (const char* schedule : {"random:1/2", "random:2/3", "random:3/1"}) {
    EXPECT_THROW(races(fails_in_the_middle, 2, schedule), std::runtime_error) << schedule;
    EXPECT_EQ(alive, 0);
  }
  EXPECT_CLEAN(exchange<1>, 1);
}

TEST(Preemption, is_part_of_the_schedule) {
  EXPECT_EQ(simt::to_string(simt::parse_schedule("random:17/8")), "random:17/8");
  EXPECT_EQ(simt::to_string(simt::parse_schedule("random:17")), "random:17");
  for (const char* bad : {"random:17/", "random:17/0", "random:17/x", "random:17/8/", "random:17/1000001", "fifo/8"}) {
    EXPECT_ANY_THROW(simt::parse_schedule(bad)) << bad;
  }
}

}  // namespace
}  // namespace flashproof::cpu_shadow_test
