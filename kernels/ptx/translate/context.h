// What translated code and its runtime share: plain memory, by offsets that the emitter writes into the code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffff;

/// Generic addresses of shared, local and parameter memory: windows where no host address lies (not canonical on x86-64 and aarch64).
inline constexpr std::uint64_t kWindowBytes = 1ULL << 32;
inline constexpr std::uint64_t kSharedWindow = 0x5A00000000000000;
inline constexpr std::uint64_t kLocalWindow = 0x5B00000000000000;
inline constexpr std::uint64_t kParameterWindow = 0x5C00000000000000;

/// Which threads a strong access or a fence is for. gpu: of the grid, or more.
enum class MemoryScope : std::uint8_t { none, cta, gpu };

/// One instruction that accesses memory or meets: its line and what it does.
struct Site {
  std::int32_t line;
  Space space;
  std::uint8_t bytes;      // of an element
  std::uint8_t count;      // elements side by side
  std::uint8_t operation;  // AtomicOperation, MbarrierOperation, BulkOperation or MatrixOperation
  bool is_signed;
  MemoryScope scope;  // none: a weak access
  bool acquires, releases;
  bool observes;       // a load, or an atomic that returns what was there
  std::int32_t block;  // of a meeting: where it stands
};

enum class AtomicOperation : std::uint8_t {
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  exchange,
  compare,
  increment,
  decrement,
  add_f64,
  add_f32,
  add_f16,  // this and the next of 32 bits: each half
  add_bf16
};

/// Of mbarrier; those from `arrive` on arrive, from `drop` on for this phase and all behind it.
enum class MbarrierOperation : std::uint8_t {
  init,
  invalidate,
  expect,
  complete,
  wait_state,
  wait_parity,
  follow,           // cp.async.mbarrier.arrive: one arrival more, which comes behind the lane's copies
  follow_no_count,  // .noinc: one of those that are expected
  arrive,
  arrive_expect,
  arrive_no_complete,
  drop,
  drop_expect,
  drop_no_complete
};

/// Of wgmma: where a is, how the matrices are read, whether the sums go on.
enum WgmmaFlag : std::uint32_t {
  wgmma_registers = 1,
  wgmma_transposed_a = 2,
  wgmma_transposed_b = 4,
  wgmma_negated_a = 8,
  wgmma_negated_b = 16,
  wgmma_adds = 32
};

/// Of cp.async.bulk: into shared memory, or out of it.
enum class BulkOperation : std::uint8_t { load, store };

/// What lanes do at a barrier. Of a cluster arrival and wait are two instructions.
enum class BarrierKind : std::uint32_t { sync, arrive, cluster_arrive, cluster_arrive_relaxed, cluster_wait };

/// Of mma: the factors. Of ldmatrix and stmatrix: whether rows are columns.
enum class MatrixOperation : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, plain, transposed };

struct Runtime;  // launch.cc

/// Of one block of the grid, for the warp that runs. `budget` counts down; below 0 the launch ends at the end of the block of code.
struct Context {
  std::int64_t budget;
  std::int64_t ask_below;  // a loop of one block of code lets the scheduler go on when the budget has come down to it
  const std::byte* parameters;
  std::uint64_t variables;                                // host address of the module's global and constant variables
  const std::uint32_t* thread;                            // [3][32]: %tid.x, .y, .z of the warp's lanes
  std::uint32_t way_back[kLanes];                         // of lanes that return from a function: the block
  std::uint32_t split;                                    // lanes that branch or leave where others go on
  std::uint32_t barrier, barrier_threads, barrier_votes;  // of lanes that come to a barrier
  std::uint32_t barrier_kind;                             // BarrierKind
  std::uint32_t barrier_result, result_threads;           // of the one that they have left: votes, and of how many
  std::uint32_t block_size[3], block_index[3], grid_size[3];
  std::uint32_t warp;
  Runtime* runtime;
};

/// What a block of code returns: the next block, or one of these.
enum Next : std::int32_t {
  diverged = -1,
  at_barrier = -2,
  left = -3,
  some_left = -4,
  parked = -5,
  stopped = -6,
  returned = -7  // every lane to its own block
};

using BlockFunction = std::int32_t (*)(std::byte* registers, Context* context, std::uint32_t lanes);

/// By which name translated code calls a function of the runtime, and where it is: nothing else can be called.
struct RuntimeSymbol {
  const char* name;
  void* address;
};

}  // namespace flashproof::ptx
