// Every diagnostic, with the kernel's own file:line; and that the executor works on after each.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/simt.h"

namespace flashproof::cpu {
namespace {

using simt::Fault;
using simt::FaultKind;

constexpr unsigned kFull = 0xffffffffu;

// Where the planted errors stand; each is set on the line before the call it names.
int line_a = 0, line_b = 0;

std::string at(int line) { return std::string("fault_test.cc:") + std::to_string(line); }

__global__ void healthy_kernel(int* sum) {
  FP_SHARED(int, tile, 64);
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 64; ++i) *sum += tile[i];
  }
}

void expect_healthy() {
  int sum = 0;
  launch(healthy_kernel, 2, 64, 0, {}, &sum);
  EXPECT_EQ(sum, 2 * 2016);
}

/// Runs `launch_it` under four schedules; the message must be one line with each of `parts`, in every one.
template <class LaunchIt>
void expect_fault(FaultKind kind, LaunchIt launch_it, const std::function<std::vector<std::string>()>& parts) {
  for (const char* schedule : {"fifo", "lifo", "random:1", "bytes:0501"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    try {
      launch_it();
      ADD_FAILURE() << "no fault under " << schedule;
    } catch (const Fault& fault) {
      const std::string message = fault.what();
      EXPECT_EQ(fault.kind, kind) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
      EXPECT_NE(message.substr(0, message.find(' ')).find("fault_test.cc:"), std::string::npos) << message;
      for (const std::string& part : parts())
        EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
    }
    expect_healthy();
  }
}

__global__ void two_barriers_kernel() {
  if (threadIdx.x < 20) {
    line_a = __LINE__ + 1;
    __syncthreads();
  } else {
    line_b = __LINE__ + 1;
    __syncthreads();
  }
}

TEST(Fault, DivergentBarrier) {
  expect_fault(
      FaultKind::divergent_barrier, [&] { launch(two_barriers_kernel, 3, 48, 0, {}); },
      [&]() -> std::vector<std::string> {
        return {"divergent barrier in block (", "threads 0-19 wait in __syncthreads at ", at(line_a),
                "threads 20-47 wait in __syncthreads at ", at(line_b)};
      });
}

__global__ void barrier_and_shuffle_kernel(int* out) {
  if (threadIdx.x == 40) return;
  if (threadIdx.x < 32 && threadIdx.x != 5) {
    line_a = __LINE__ + 1;
    out[threadIdx.x] = __shfl_xor_sync(kFull, 1, 1);
  } else {
    line_b = __LINE__ + 1;
    __syncthreads();
  }
}

TEST(Fault, Deadlock) {
  std::vector<int> out(64);
  expect_fault(
      FaultKind::deadlock, [&] { launch(barrier_and_shuffle_kernel, 1, 64, 0, {}, out.data()); },
      [&]() -> std::vector<std::string> {
        return {"deadlock in block (0, 0, 0)", "threads 0-4, 6-31 wait in __shfl_xor_sync at ",     at(line_a),
                "(mask 0xffffffff)",           "threads 5, 32-39, 41-63 wait in __syncthreads at ", at(line_b),
                "thread 40 has exited"};
      });
}

template <int kWhich>
__global__ void exited_lane_kernel() {
  if (threadIdx.x == 7) return;
  if constexpr (kWhich == 0) {
    line_a = __LINE__ + 1;
    __shfl_down_sync(kFull, 1.0f, 1);
  } else if constexpr (kWhich == 1) {
    line_a = __LINE__ + 1;
    __any_sync(kFull, 1);
  } else {
    line_a = __LINE__ + 1;
    __syncwarp();
  }
}

TEST(Fault, ExitedLane) {
  const auto parts = [&]() -> std::vector<std::string> {
    return {at(line_a), "the mask names exited lanes 0x00000080", "mask 0xffffffff", "block (0, 0, 0)"};
  };
  expect_fault(FaultKind::exited_lane, [&] { launch(exited_lane_kernel<0>, 1, 32, 0, {}); }, parts);
  expect_fault(FaultKind::exited_lane, [&] { launch(exited_lane_kernel<1>, 1, 32, 0, {}); }, parts);
  expect_fault(FaultKind::exited_lane, [&] { launch(exited_lane_kernel<2>, 1, 32, 0, {}); }, parts);
}

__global__ void mask_without_me_kernel() {
  line_a = __LINE__ + 1;
  __syncwarp(threadIdx.x == 3 ? 0xfffffff7u : kFull);
}

TEST(Fault, MaskLacksTheCaller) {
  expect_fault(
      FaultKind::bad_argument, [&] { launch(mask_without_me_kernel, 1, 32, 0, {}); },
      [&]() -> std::vector<std::string> {
        return {at(line_a) + ": __syncwarp: the mask lacks the calling lane", "thread 3, lane 3", "mask 0xfffffff7"};
      });
}

__global__ void width_kernel(int width) {
  line_a = __LINE__ + 1;
  __shfl_sync(kFull, 1, 0, width);
}

TEST(Fault, Width) {
  for (const int width : {0, -1, 3, 33, 64}) {
    expect_fault(
        FaultKind::bad_argument, [&] { launch(width_kernel, 1, 32, 0, {}, width); },
        [&]() -> std::vector<std::string> {
          return {at(line_a) + ": __shfl_sync: width " + std::to_string(width), "legal are"};
        });
  }
}

__global__ void different_collectives_kernel(int* out) {
  if (threadIdx.x % 2 == 0) {
    line_a = __LINE__ + 1;
    out[threadIdx.x] = __shfl_xor_sync(kFull, 1, 2);
  } else {
    line_b = __LINE__ + 1;
    out[threadIdx.x] = __any_sync(kFull, 1);
  }
}

TEST(Fault, LanesInDifferentCollectives) {
  std::vector<int> out(32);
  expect_fault(
      FaultKind::divergent_collective, [&] { launch(different_collectives_kernel, 1, 32, 0, {}, out.data()); },
      [&]() -> std::vector<std::string> {
        return {"lanes of one mask are in different collectives", "in __shfl_xor_sync at ", at(line_a),
                "in __any_sync at ", at(line_b)};
      });
}

__global__ void different_masks_kernel() {
  line_a = __LINE__ + 1;
  __syncwarp(threadIdx.x == 0 ? 0x3u : 0xfu);
}

TEST(Fault, LanesDisagreeAboutTheMask) {
  expect_fault(
      FaultKind::divergent_collective, [&] { launch(different_masks_kernel, 1, 4, 0, {}); },
      [&]() -> std::vector<std::string> {
        return {at(line_a), "thread 0 waits in __syncwarp", "(mask 0x00000003)", "threads 1-3 wait in __syncwarp",
                "(mask 0x0000000f)"};
      });
}

__global__ void misaligned_kernel(float* p, int which) {
  if (which == 0) {
    line_a = __LINE__ + 1;
    load_f32x4(p + 1);
  } else if (which == 1) {
    line_a = __LINE__ + 1;
    store_f32x4(p + 1, float4{});
  } else if (which == 2) {
    line_a = __LINE__ + 1;
    load_u32x4(p + 1);
  } else {
    line_a = __LINE__ + 1;
    store_u32x4(p + 1, uint4{});
  }
}

TEST(Fault, Misaligned) {
  alignas(16) float data[8] = {};
  for (const int which : {0, 1, 2, 3}) {
    expect_fault(
        FaultKind::misaligned, [&] { launch(misaligned_kernel, 1, 2, 0, {}, data, which); },
        [&]() -> std::vector<std::string> {
          const char* const names[] = {": load_f32x4: ", ": store_f32x4: ", ": load_u32x4: ", ": store_u32x4: "};
          return {at(line_a) + names[which], "4 bytes past a multiple of 16"};
        });
  }
}

__global__ void nothing_kernel() {}

TEST(Fault, IllegalLaunches) {
  struct Launch {
    dim3 grid, block;
    std::size_t bytes;
    const char* part;
  };
  for (const Launch& l : std::vector<Launch>{{1, 0, 0, "block (0, 1, 1)"},
                                             {1, dim3(1, 0), 0, "block (1, 0, 1)"},
                                             {1, 1025, 0, "block (1025, 1, 1)"},
                                             {1, dim3(32, 33), 0, "block (32, 33, 1)"},
                                             {1, dim3(1, 1, 65), 0, "block (1, 1, 65)"},
                                             {1, dim3(65536, 65536), 0, "block (65536, 65536, 1)"},
                                             {1, dim3(kFull, kFull, kFull), 0, "block (4294967295"},
                                             {dim3(1, 65536), 1, 0, "grid (1, 65536, 1)"},
                                             {dim3(0x80000000u), 1, 0, "grid (2147483648, 1, 1)"},
                                             {0, 2000, 0, "block (2000, 1, 1)"},
                                             {1, 1, 232449, "232449 bytes of dynamic shared memory"}}) {
    try {
      line_a = __LINE__ + 1;
      launch(nothing_kernel, l.grid, l.block, l.bytes, {});
      ADD_FAILURE() << "accepted " << l.part;
    } catch (const Fault& fault) {
      EXPECT_EQ(fault.kind, FaultKind::bad_launch);
      const std::string message = fault.what();
      EXPECT_NE(message.find(at(line_a) + ": bad launch: "), std::string::npos) << message;
      EXPECT_NE(message.find(l.part), std::string::npos) << message;
    }
  }
  launch(nothing_kernel, 1, 1024, 232448, {});
  launch(nothing_kernel, dim3(1, 1, 65535), 1, 0, {});
  launch(nothing_kernel, 1, dim3(4, 4, 64), 0, {});
}

__global__ void too_much_static_kernel() {
  FP_SHARED(double, fits, 4096);  // 32 KiB
  fits[0] = 1;
  line_a = __LINE__ + 1;
  FP_SHARED(char, over, 16385);  // and one byte more than 48 KiB
  over[0] = 1;
}

__global__ void static_and_dynamic_kernel() {
  line_a = __LINE__ + 1;
  FP_SHARED(char, over, 1);
  over[0] = 1;
}

__global__ void nested_kernel() {
  line_a = __LINE__ + 1;
  launch(nothing_kernel, 1, 1, 0, {});
}

TEST(Fault, TooMuchSharedMemoryAndNestedLaunch) {
  const auto shared = [&]() -> std::vector<std::string> {
    return {at(line_a) + ": shared array: ", "legal are 49152 static"};
  };
  expect_fault(FaultKind::bad_launch, [&] { launch(too_much_static_kernel, 1, 2, 0, {}); }, shared);
  expect_fault(FaultKind::bad_launch, [&] { launch(static_and_dynamic_kernel, 1, 2, 232448, {}); }, shared);
  expect_fault(
      FaultKind::bad_launch, [&] { launch(nested_kernel, 1, 33, 0, {}); },
      [&]() -> std::vector<std::string> { return {at(line_a) + ": bad launch: launch inside a kernel"}; });
}

int shared_outside() {
  FP_SHARED(int, tile, 1);
  return tile[0];
}

TEST(Fault, CollectivesOutsideAKernel) {
  EXPECT_THROW(__syncthreads(), Fault);
  EXPECT_THROW(__shfl_sync(kFull, 1, 0), Fault);
  EXPECT_THROW(__syncwarp(), Fault);
  EXPECT_THROW(shared_outside(), Fault);
}

// Counts constructions minus destructions: unwinding must reach every thread that is under way.
struct Tracked {
  explicit Tracked(int* count) : balance(count) { ++*balance; }
  ~Tracked() { --*balance; }
  Tracked(const Tracked&) = delete;
  Tracked& operator=(const Tracked&) = delete;
  int* balance;
};

struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

__global__ void throwing_kernel(unsigned who, int* balance, int* constructed) {
  const Tracked tracked(balance);
  const std::vector<int> heap(100, 1);  // a leak if the frame is abandoned
  ++*constructed;
  __syncthreads();
  __syncwarp();
  if (threadIdx.x == who) throw KernelError("thread " + std::to_string(who));
  __syncthreads();
}

TEST(Fault, ExceptionsPropagateAndUnwindTheOthers) {
  for (const char* schedule : {"fifo", "lifo", "random:1", "bytes:0908"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    for (const unsigned who : {0u, 17u, 63u}) {
      int balance = 0, constructed = 0;
      try {
        launch(throwing_kernel, 3, 64, 0, {}, who, &balance, &constructed);
        ADD_FAILURE();
      } catch (const KernelError& error) {
        EXPECT_EQ(error.what(), "thread " + std::to_string(who));
      }
      EXPECT_EQ(constructed, 64);  // the first block only
      EXPECT_EQ(balance, 0);
    }
  }
  expect_healthy();
}

TEST(Fault, AThousandInARow) {
  for (int i = 0; i < 1000; ++i) {
    int balance = 0, constructed = 0;
    if (i % 2 == 0) {
      EXPECT_THROW(launch(two_barriers_kernel, 1, 48, 0, {}), Fault);
    } else {
      EXPECT_THROW(launch(throwing_kernel, 1, 64, 128, {}, 5u, &balance, &constructed), KernelError);
    }
    EXPECT_EQ(balance, 0);
  }
  expect_healthy();
}

}  // namespace
}  // namespace flashproof::cpu
