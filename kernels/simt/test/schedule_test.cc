// Schedules: text form, determinism, that interleavings really differ, and that they expose a missing barrier.
#include "kernels/simt/cpu/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/simt.h"
#include "reference/system/error.h"

namespace flashproof::cpu {
namespace {

TEST(ScheduleText, RoundTrip) {
  for (const char* text : {"fifo", "lifo", "random:0", "random:18446744073709551615", "bytes:", "bytes:00ff3a"}) {
    EXPECT_EQ(simt::to_string(simt::parse_schedule(text)), text);
  }
  EXPECT_EQ(simt::to_string(simt::parse_schedule("bytes:0AbF")), "bytes:0abf");
}

TEST(ScheduleText, RefusesInOneLine) {
  for (const std::string& text :
       {std::string(""), std::string("FIFO"), std::string("fifo "), std::string("random"), std::string("random:"),
        std::string("random:-1"), std::string("random:+1"), std::string("random:1x"), std::string("random: 1"),
        std::string("random:18446744073709551616"), std::string("bytes"), std::string("bytes:0"),
        std::string("bytes:0g"), std::string("bytes:zz"), std::string("a\nb\0c", 5), std::string(100000, 'x')}) {
    try {
      simt::parse_schedule(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos);
      EXPECT_LT(message.size(), 250u);
      EXPECT_NE(message.find("random:SEED"), std::string::npos);
    }
  }
}

// The order in which threads pass, phase by phase.
__global__ void order_kernel(std::vector<unsigned>* log) {
  for (int phase = 0; phase < 3; ++phase) {
    log->push_back(blockIdx.x * 1000 + threadIdx.x);
    __syncthreads();
  }
  log->push_back(blockIdx.x * 1000 + threadIdx.x);
  __syncwarp();
  log->push_back(blockIdx.x * 1000 + threadIdx.x);
}

std::vector<unsigned> order_under(const char* schedule, unsigned blocks = 2, unsigned threads = 40) {
  const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
  std::vector<unsigned> log;
  launch(order_kernel, blocks, threads, 0, {}, &log);
  EXPECT_EQ(log.size(), 5u * blocks * threads);
  return log;
}

TEST(Schedule, SameScheduleSameOrderAndDifferentOnesDiffer) {
  const char* const schedules[] = {"fifo", "lifo", "random:1", "random:2", "bytes:010203040506", "bytes:ffee01"};
  std::set<std::vector<unsigned>> distinct;
  for (const char* schedule : schedules) {
    const std::vector<unsigned> log = order_under(schedule);
    EXPECT_EQ(log, order_under(schedule)) << schedule;
    distinct.insert(log);
  }
  EXPECT_EQ(distinct.size(), std::size(schedules));
}

TEST(Schedule, FifoIsThreadOrder) {
  const std::vector<unsigned> log = order_under("fifo", 1, 8);
  for (unsigned i = 0; i < log.size(); ++i) EXPECT_EQ(log[i], i % 8);
  EXPECT_EQ(order_under("bytes:"), order_under("fifo"));
}

TEST(Schedule, LifoStartsWithTheNewestThreadAndTheLastBlock) {
  const std::vector<unsigned> log = order_under("lifo", 3, 4);
  EXPECT_EQ(std::vector(log.begin(), log.begin() + 4), (std::vector<unsigned>{2003, 2002, 2001, 2000}));
  // The next phase: newest arrival first, and the one that released the barrier (2000) last.
  EXPECT_EQ(std::vector(log.begin() + 4, log.begin() + 8), (std::vector<unsigned>{2001, 2002, 2003, 2000}));
  EXPECT_EQ(log.back() / 1000, 0u);
}

TEST(Schedule, BytesPickByPosition) {
  // Four runnable: byte 2 takes thread 2, then 5 mod 3 = 2 takes thread 3, then 0 takes thread 0; thread 1 is no
  // choice.
  const std::vector<unsigned> log = order_under("bytes:020500", 1, 4);
  EXPECT_EQ(std::vector(log.begin(), log.begin() + 8), (std::vector<unsigned>{2, 3, 0, 1, 2, 3, 0, 1}));
}

TEST(Schedule, RandomIsRoughlyUniform) {
  // 2000 seeds, 8 threads: who runs first. Each count is binomial with mean 250 and sigma sqrt(2000*7/64) = 14.8; the
  // seeds are fixed, so this cannot flicker; 6 sigma leaves room for any sound generator.
  std::vector<int> first(8, 0);
  for (int seed = 0; seed < 2000; ++seed) ++first[order_under(("random:" + std::to_string(seed)).c_str(), 1, 8)[0]];
  for (const int count : first) {
    EXPECT_GT(count, 250 - 89);
    EXPECT_LT(count, 250 + 89);
  }
}

TEST(Schedule, RandomVisitsEveryBlockInAnotherOrder) {
  const std::vector<unsigned> log = order_under("random:4", 50, 1);
  std::vector<unsigned> blocks;
  for (std::size_t i = 0; i < log.size(); i += 5) blocks.push_back(log[i] / 1000);
  EXPECT_FALSE(std::is_sorted(blocks.begin(), blocks.end()));
  EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), 50u);
}

__global__ void once_kernel(std::vector<unsigned>* log) { log->push_back(threadIdx.x); }

TEST(Schedule, GuardsNestAndGoOn) {
  const simt::ScopedSchedule outer(simt::parse_schedule("lifo"));
  EXPECT_EQ(order_under("fifo", 1, 4)[0], 0u);
  std::vector<unsigned> log;
  launch(order_kernel, 1, 4, 0, {}, &log);  // lifo again
  EXPECT_EQ(log[0], 3u);
  const simt::ScopedSchedule bytes(simt::parse_schedule("bytes:000000010101"));
  log.clear();
  launch(once_kernel, 1, 4, 0, {}, &log);
  launch(once_kernel, 1, 4, 0, {}, &log);  // the second launch goes on with the fourth byte
  EXPECT_EQ(log, (std::vector<unsigned>{0, 1, 2, 3, 1, 2, 3, 0}));
}

// Block sum with the barrier between writing and reading left out.
template <bool kBarrier>
__global__ void neighbour_kernel(int* wrong) {
  FP_SHARED(int, tile, 64);
  const int t = static_cast<int>(threadIdx.x);
  tile[t] = t;
  if constexpr (kBarrier) __syncthreads();
  const int other = (t * 7 + 1) % 64;
  if (tile[other] != other) atomicAdd(wrong, 1);
}

// Only the last warp's reader is early: fifo never shows it.
template <bool kBarrier>
__global__ void last_reads_kernel(int* wrong) {
  FP_SHARED(int, tile, 64);
  const int t = static_cast<int>(threadIdx.x);
  tile[t] = t;
  if constexpr (kBarrier) __syncthreads();
  if (t == 63) {
    for (int i = 0; i < 64; ++i) *wrong += tile[i] != i ? 1 : 0;
  }
}

template <class Kernel>
int wrong_under(Kernel kernel, const char* schedule) {
  const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
  int wrong = 0;
  launch(kernel, 1, 64, 0, {}, &wrong);
  return wrong;
}

TEST(Schedule, AMissingBarrierIsVisible) {
  for (const char* schedule : {"fifo", "lifo", "random:1", "random:2", "random:3", "bytes:3f3e3d"}) {
    EXPECT_GT(wrong_under(neighbour_kernel<false>, schedule), 0) << schedule;
    EXPECT_EQ(wrong_under(neighbour_kernel<true>, schedule), 0) << schedule;
    EXPECT_EQ(wrong_under(last_reads_kernel<true>, schedule), 0) << schedule;
  }
  EXPECT_EQ(wrong_under(last_reads_kernel<false>, "fifo"), 0);  // one fixed order is not enough
  EXPECT_GT(wrong_under(last_reads_kernel<false>, "lifo"), 0);
  EXPECT_GT(wrong_under(last_reads_kernel<false>, "random:1"), 0);
  EXPECT_GT(wrong_under(last_reads_kernel<false>, "bytes:3f"), 0);
}

}  // namespace
}  // namespace flashproof::cpu
