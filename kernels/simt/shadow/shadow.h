// The race shadow: what a launch on the CPU executor does to memory, access by access, and which of it no barrier orders.
//
// Fibers are sequentially consistent, so a wrong program may give the right answer under every schedule. The shadow
// decides by happens-before instead: two accesses to one byte, at least one a plain write, race unless
//   - one thread made both, or a block barrier lies between them, or __syncwarp calls of lanes that both name each other,
//   - they belong to different launches, or both are atomics,
//   - __threadfence(), an atomic, an atomic that reads it, __threadfence() lead from one to the other.
// Shuffles and votes order nothing, blocks of one launch nothing either. The answer does not depend on the schedule, but
// for what the kernel does differently under another one. Byte-accurate.
//
// Accesses come from kernels that were compiled a second time, with the compiler's thread instrumentation and without
// its runtime (tsan_hooks.cc), in the namespace flashproof::cpu_race; what the executor does on a kernel's behalf
// (atomics, copies) is told to the shadow by the functions at the end. Ignored: a thread's own stack and what is neither
// shared memory nor watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashproof::simt {

class Shadow;

/// What the shadow of the running launch is; null outside a launch and without a ScopedShadow. One thread at a time.
extern constinit thread_local Shadow* active_shadow;

enum class Global : std::uint8_t { input, output };  // no thread may write an input; a workspace counts as output

struct Race {
  std::string text;     // one line, first the place that was reached last, as "kernels/x.h:12"
  std::string memory;   // "o + 16 bytes"
  std::uint64_t count;  // of granules, for this pair of places
};

/// What kernels read from and wrote to one watched range, in elements of the size it was watched with.
struct Traffic {
  std::string name;
  std::uint64_t elements = 0;                           // its size
  std::uint64_t loads = 0, stores = 0;                  // by threads
  std::uint64_t merged_loads = 0, merged_stores = 0;    // threads of a block in one instruction at one place count once
  std::uint64_t touched_loads = 0, touched_stores = 0;  // distinct elements
};

struct ShadowOptions {
  bool races = true;
  bool traffic = false;
};

/// Watches every launch in its scope. Not nested.
class ScopedShadow {
 public:
  explicit ScopedShadow(ShadowOptions options = {});
  ~ScopedShadow();
  ScopedShadow(const ScopedShadow&) = delete;
  ScopedShadow& operator=(const ScopedShadow&) = delete;

  /// Global memory that kernels may touch; it must outlive the scope. Ranges must not overlap.
  void watch(std::string name, Global use, const void* data, std::size_t bytes, std::size_t element_bytes = 1);

  /// One per pair of source places and range, at most kMaxRaces of them.
  const std::vector<Race>& races() const;
  /// Pairs of accesses, all of them.
  std::uint64_t race_count() const;
  /// Loads and stores of kernels that were looked at: 0 means that nothing was instrumented.
  std::uint64_t accesses() const;
  std::vector<Traffic> traffic() const;

  static constexpr std::size_t kMaxRaces = 32;

 private:
  std::unique_ptr<Shadow> shadow_;
};

// For what the executor itself does to memory on behalf of the running thread; nothing without a shadow. `pc` is where
// the report points: a function that a kernel calls directly passes __builtin_return_address(0).
void note_read(const void* address, std::size_t bytes, const void* pc);
void note_write(const void* address, std::size_t bytes, const void* pc);
void note_atomic(const void* address, std::size_t bytes, const void* pc);
inline void shadow_read(const void* address, std::size_t bytes, const void* pc = __builtin_return_address(0)) {
  if (active_shadow != nullptr) [[unlikely]]
    note_read(address, bytes, pc);
}
inline void shadow_write(const void* address, std::size_t bytes, const void* pc = __builtin_return_address(0)) {
  if (active_shadow != nullptr) [[unlikely]]
    note_write(address, bytes, pc);
}
inline void shadow_atomic(const void* address, std::size_t bytes, const void* pc = __builtin_return_address(0)) {
  if (active_shadow != nullptr) [[unlikely]]
    note_atomic(address, bytes, pc);
}
/// A read on behalf of another thread of the block, which waits in the same collective (ldmatrix: the lane that gave the
/// row's address).
void shadow_read_for(unsigned thread, const void* address, std::size_t bytes, const void* pc);

// cp.async: the copy to shared memory may happen at any time from its issue to the wait of the issuing thread, so until
// then it races with every access, that thread's own included. Groups as in CUDA.
void shadow_async_write(const void* address, std::size_t bytes, const void* pc = __builtin_return_address(0));
void shadow_async_commit();
/// Completes all committed groups of the running thread but the newest `pending`.
void shadow_async_wait(std::size_t pending);
/// cp.async.wait_all: everything issued, committed or not.
void shadow_async_wait_all();

/// __threadfence() and __threadfence_block(): what the thread did and knows becomes part of its next atomics, what the
/// atomics before read becomes known to it.
void shadow_fence(bool whole_device);

}  // namespace flashproof::simt
