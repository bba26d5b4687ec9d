// Runs a grid: block by block, each thread a persistent fiber that executes the kernel once per block and parks.

#include "kernels/simt/cpu/executor.h"

#include <immintrin.h>

#include <atomic>
#include <numeric>
#include <utility>

#include "kernels/simt/block.h"
#include "kernels/simt/cpu/cpu_launch.h"
#include "kernels/simt/cpu/cpu_memory.h"
#include "kernels/simt/cpu/launch_checks.h"
#include "kernels/simt/cpu/shared_memory.h"
#include "kernels/simt/shadow/shadow_state.h"
#include "reference/system/error.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace flashproof::simt {

Block block;

namespace {

void fail(std::exception_ptr error) {
  if (!block.error) block.error = std::move(error);
}

/// What a thread owes the others when it exits: no thread may still wait for it in a warp, and the barrier may now be
/// full.
void settle_exit(const Thread& self) {
  Warp& warp = block.warp_of(self);
  const std::uint32_t bit = 1u << (self.number % kLanes);
  warp.exited |= bit;
  for (std::uint32_t lanes = warp.waiting; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(lanes));
    const Thread& other = block.threads[self.number / kLanes * kLanes + lane];
    if ((other.mask & bit) != 0) throw names_exited_lanes(other);
  }
  if (block.alive > 0 && block.barrier.count == block.alive) release_barrier(nullptr);
  if (block.alive > 0 && block.queue.empty()) throw nobody_can_run();
}

/// Where to go on after `self` has left the kernel.
Fiber* leave(Thread& self) {
  self.progress = Progress::exited;
  --block.alive;
  if (!block.error) {
    try {
      settle_exit(self);
    } catch (...) {
      fail(std::current_exception());
    }
  }
  Thread* next = nullptr;
  if (!block.error) {
    if (block.alive > 0) next = block.queue.pop();
  } else {
    // Resume each thread that is under way: its collective throws Cancelled. The others never start.
    while (next == nullptr && block.cancel_next < block.size) {
      Thread& thread = block.threads[block.cancel_next++];
      if (thread.progress == Progress::started) next = &thread;
    }
  }
  if (next == nullptr) return &block.host;
  block.current = next;
  threadIdx = next->index;
  return &next->fiber;
}

void fiber_main(boost::context::detail::transfer_t transfer) {
  Thread& self = *block.current;
  arrive(self.fiber, transfer);
  for (;;) {
    self.progress = Progress::started;
    try {
      block.body(block.call);
    } catch (const Cancelled&) {
    } catch (...) {
      fail(std::current_exception());
    }
    switch_fiber(self.fiber, *leave(self));
  }
}

/// All six sticky flags set: arithmetic then never changes MXCSR and every switch finds it equal (fiber.h). The
/// caller's state comes back at the end, flags included.
class FloatingPointState {
 public:
  FloatingPointState() : saved_(_mm_getcsr()) {
    constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, round to nearest, no flush to zero
    constexpr unsigned kStickyFlags = 0x3f;
    check_rounding(saved_);
    _mm_setcsr(kDefault | kStickyFlags);
  }
  ~FloatingPointState() { _mm_setcsr(saved_); }
  FloatingPointState(const FloatingPointState&) = delete;
  FloatingPointState& operator=(const FloatingPointState&) = delete;

 private:
  unsigned saved_;
};

/// The order of the blocks: a start and a stride prime to their number, so that every block comes up once.
struct BlockOrder {
  std::uint64_t total, position, stride;

  BlockOrder(std::uint64_t blocks, ScopedSchedule* schedule) : total(blocks), position(0), stride(1) {
    const Policy policy = schedule == nullptr ? Policy::fifo : schedule->policy();
    if (policy == Policy::lifo) position = stride = total - 1;
    if (policy == Policy::random && total > 1) {
      position = schedule->next_random() % total;
      stride = schedule->next_random() % total;
      while (std::gcd(stride, total) != 1) stride = (stride + 1) % total;
    }
  }
  void advance() { position = position >= total - stride ? position - (total - stride) : position + stride; }
};

void prepare_threads(dim3 size) {
  block.size = size.x * size.y * size.z;
  for (unsigned i = 0; i < block.size; ++i) {
    Thread& thread = block.threads[i];
    thread.number = static_cast<std::uint16_t>(i);
    thread.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    if (thread.fiber.context == nullptr) make_fiber(thread.fiber, i, fiber_main);
  }
}

void run_block(ScopedSchedule* schedule) {
  block.alive = block.size;
  block.barrier.count = 0;
  block.barrier.votes = 0;
  block.barrier.mixed = false;
  block.cancel_next = 0;
  block.queue.clear(schedule);
  for (unsigned first = 0; first < block.size; first += kLanes) {
    const unsigned lanes = block.size - first;
    block.warps[first / kLanes] = {lanes >= kLanes ? ~0u : (1u << lanes) - 1, 0, 0};
  }
  for (unsigned i = 0; i < block.size; ++i) {
    block.threads[i].progress = Progress::not_started;
    block.threads[i].waits = Waits::no;
    block.queue.push(&block.threads[i]);
  }
  switch_to(block.host, *block.queue.pop());
  block.current = nullptr;
  if (block.error) std::rethrow_exception(std::exchange(block.error, nullptr));
}

std::atomic_flag busy = ATOMIC_FLAG_INIT;
thread_local bool inside_launch = false;

struct Ownership {
  explicit Ownership(const Grid& grid) {
    if (inside_launch) refuse_launch(grid, "launch inside a kernel");
    if (busy.test_and_set(std::memory_order_acquire)) {
      throw InfrastructureError("executor: single-threaded, but another thread is inside launch()");
    }
    inside_launch = true;
  }
  ~Ownership() {
    inside_launch = false;
    busy.clear(std::memory_order_release);
  }
  Ownership(const Ownership&) = delete;
  Ownership& operator=(const Ownership&) = delete;
};

struct ShadowedLaunch {
  ShadowedLaunch(std::uint64_t blocks, std::size_t dynamic_shared_bytes) {
    if (scoped_shadow() == nullptr) return;
    scoped_shadow()->start_launch(blocks);
    scoped_shadow()->add_shared("dynamic shared memory", current_dynamic_shared, dynamic_shared_bytes);
  }
  ~ShadowedLaunch() {
    if (active_shadow != nullptr) active_shadow->end_launch();
  }
  ShadowedLaunch(const ShadowedLaunch&) = delete;
  ShadowedLaunch& operator=(const ShadowedLaunch&) = delete;
};

}  // namespace

void fail_outside(const CallSite& site) { throw make_fault(FaultKind::bad_launch, site, "called outside a kernel"); }

void preempt_at_access() {
  ScopedSchedule* const schedule = ScopedSchedule::current();
  if (schedule == nullptr || !schedule->preempts() || block.error || block.queue.empty()) return;
  Thread& self = *block.current;
  block.queue.push(&self);
  Thread& next = *block.queue.pop();
  // Nothing may be thrown through the instrumented function: after another thread's failure this one goes on to its next
  // collective.
  if (&next != &self) switch_to(self.fiber, next);
}

void run_grid(const Grid& grid, dim3 block_size, std::size_t dynamic_shared_bytes, void (*body)(const void* call),
              const void* call) {
  check_launch(grid, block_size, dynamic_shared_bytes);
  const std::uint64_t blocks = std::uint64_t{grid.size.x} * grid.size.y * grid.size.z;
  if (blocks == 0) return;
  const Ownership ownership(grid);
  const FloatingPointState floating_point;
  const SharedMemory shared(dynamic_shared_bytes);
  block.body = body;
  block.call = call;
  blockDim = block_size;
  gridDim = grid.size;
  prepare_threads(block_size);
  ScopedSchedule* const schedule = ScopedSchedule::current();
  const ShadowedLaunch shadowed(blocks, dynamic_shared_bytes);
  BlockOrder order(blocks, schedule);
  for (std::uint64_t i = 0; i < blocks; ++i, order.advance()) {
    blockIdx = {static_cast<unsigned>(order.position % grid.size.x),
                static_cast<unsigned>(order.position / grid.size.x % grid.size.y),
                static_cast<unsigned>(order.position / grid.size.x / grid.size.y)};
    start_block_memory();
    if (active_shadow != nullptr) active_shadow->start_block(static_cast<std::uint32_t>(i));
    start_block_copies(schedule != nullptr && schedule->lazy_copies());
    run_block(schedule);
    if (active_shadow != nullptr) active_shadow->end_block();
  }
}

}  // namespace flashproof::simt
