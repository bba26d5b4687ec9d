// The state of the block that runs now: its threads, warps, barrier and run queue. Internal to the executor.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

#include "kernels/simt/cpu/cpu_collectives.h"
#include "kernels/simt/cpu/cpu_types.h"
#include "kernels/simt/cpu/fiber.h"
#include "kernels/simt/cpu/run_queue.h"
#include "kernels/simt/cpu/schedule.h"

namespace flashproof::simt {

inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kLanes = 32;

enum class Progress : std::uint8_t { not_started, started, exited };
enum class Waits : std::uint8_t { no, barrier, warp };

struct CallSite {
  const char* name = nullptr;  // "__syncthreads"
  const char* file = nullptr;
  int line = 0;
};

// Strings are compared only when the pointers differ: the same literal may exist once per translation unit.
inline bool same_text(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }
inline bool same_site(const CallSite& a, const CallSite& b) {
  return a.line == b.line && same_text(a.file, b.file) && same_text(a.name, b.name);
}

struct Thread {
  Fiber fiber;
  uint3 index{};             // threadIdx
  std::uint16_t number = 0;  // x fastest; number / 32 is the warp, number % 32 the lane
  Progress progress = Progress::not_started;
  Waits waits = Waits::no;
  // What it has brought to the collective it waits in, and what it takes away. Two places: the thread that arrives last
  // computes the results for all, so a lane that runs on and deposits anew never overwrites what another still reads.
  Collective collective = Collective::syncwarp;
  std::uint8_t source = 0;  // lane that a shuffle reads
  std::uint32_t mask = 0;
  CallSite site;
  std::uint64_t deposit = 0;
  std::uint64_t result = 0;
};

struct Warp {
  std::uint32_t exists = 0;  // lanes of the block; the last warp may be short
  std::uint32_t exited = 0;
  std::uint32_t waiting = 0;  // lanes in a warp collective
};

struct Barrier {
  std::array<Thread*, kMaxThreads> arrived{};
  unsigned count = 0;
  int votes = 0;
  bool mixed = false;  // they came from different call sites
};

/// Thrown in the collective of a suspended thread when another thread of its block has failed.
struct Cancelled {};

struct Block {
  std::array<Thread, kMaxThreads> threads;
  std::array<Warp, kMaxThreads / kLanes> warps;
  Barrier barrier;
  RunQueue queue;
  Fiber host;                 // the caller of launch()
  Thread* current = nullptr;  // null outside a kernel
  unsigned size = 0;          // threads in the block
  unsigned alive = 0;         // of these, not exited
  unsigned cancel_next = 0;   // threads below have been unwound
  std::exception_ptr error;   // the first one; set means: unwind everything
  void (*body)(const void* call) = nullptr;
  const void* call = nullptr;

  Warp& warp_of(const Thread& thread) { return warps[thread.number / kLanes]; }
};

extern Block block;

Fault nobody_can_run();  // in diagnostics.cc, as those below

[[noreturn]] void fail_outside(const CallSite& site);

/// The running thread, with the place where it stands. Throws Fault outside a kernel. The fields are set one by one: a
/// CallSite built on the stack and copied as a whole stalls on its own stores (measured with g++: shuffle 40 instead of
/// 33 ns).
inline Thread& running_thread_at(const char* name, const char* file, int line) {
  if (block.current == nullptr) fail_outside({name, file, line});
  Thread& self = *block.current;
  if (block.error) throw Cancelled{};  // it was preempted while another one failed
  self.site.name = name;
  self.site.file = file;
  self.site.line = line;
  return self;
}

/// Goes on with `to`; returns when someone switches back to `from`.
[[gnu::always_inline]] inline void switch_to(Fiber& from, Thread& to) {
  block.current = &to;
  threadIdx = to.index;
  switch_fiber(from, to.fiber);
}

/// Gives way to the next runnable thread; returns when this one is picked again. Throws Fault (deadlock) if no thread
/// can run, Cancelled if another one failed. Inlined into the collective, as meet() is: after a switch the processor predicts
/// every return wrongly, since its stack of return addresses is the other thread's.
[[gnu::always_inline]] inline void suspend() {
  if (block.queue.empty()) throw nobody_can_run();
  Thread& self = *block.current;
  Thread& next = *block.queue.pop();
  if (&next != &self) switch_to(self.fiber, next);
  if (block.error) throw Cancelled{};
}

/// Makes the threads of the barrier runnable, `last` (if any) behind the others. Throws Fault if they stand at
/// different call sites.
void release_barrier(Thread* last);

/// In matrix.cc: carries out a collective of the whole warp whose lanes have deposited the addresses of their operands.
void run_matrix(Collective kind, Thread* lanes);

/// In async_copy.cc: copies that threads of the last block have left behind are forgotten.
void start_block_copies(bool lazy);

// In diagnostics.cc: the message is one line that begins with the kernel's file:line.
Fault make_fault(FaultKind kind, const CallSite& site, const std::string& what);
Fault divergent_barrier();
Fault divergent_collective(const Thread& one, const Thread& other);
Fault names_exited_lanes(const Thread& thread);
std::string describe(const Thread& thread);

}  // namespace flashproof::simt
