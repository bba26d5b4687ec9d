// In which order the CPU executor runs the threads of a block, and what it throws when a kernel breaks CUDA's rules.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof::simt {

enum class Policy : std::uint8_t { fifo, lifo, random, bytes };

/// Deterministic: the same schedule gives the same interleaving. A thread runs until it waits in a barrier or a warp
/// collective; then the policy picks the next runnable one: the oldest, the newest, a random one, or for `bytes` the
/// one at position byte mod runnable, oldest first. A choice between two or more threads consumes one byte; when the
/// bytes run out it continues as fifo. The thread that arrives last and so releases the others runs after them. Blocks
/// run one after another, ascending for fifo and bytes, descending for lifo, shuffled for random.
struct Schedule {
  Policy policy = Policy::fifo;
  std::uint64_t seed = 0;           // random
  std::vector<std::uint8_t> bytes;  // bytes
  // random: a thread may also give way at a load or store of shared or watched memory, at one in so many on average; 0:
  // never. Only kernels built for the race shadow, under one (shadow.h), do.
  std::uint32_t preempt = 0;
  // cp_async lands at once, or as late as it may: at the wait for its group, its destination being NaN until then.
  bool lazy_copies = false;
};

/// "fifo", "lifo", "random:17", "random:17/8" (preempt 8), "bytes:00ff3a", each also with "+lazy" behind it: lazy copies.
/// Throws UsageError.
Schedule parse_schedule(std::string_view text);
std::string to_string(const Schedule& schedule);

/// A rule of CUDA that the kernel broke; what() is one line with file:line of the kernel source.
enum class FaultKind : std::uint8_t {
  divergent_barrier,
  deadlock,
  exited_lane,
  divergent_collective,
  misaligned,
  bad_launch,
  race,          // two accesses that nothing orders (shadow.h)
  bad_argument,  // a mask without the calling lane, a width that is no power of two, a cp_async to where nothing is shared
};

struct Fault : std::runtime_error {
  Fault(FaultKind fault_kind, const std::string& message) : std::runtime_error(message), kind(fault_kind) {}
  FaultKind kind;
};

}  // namespace flashproof::simt
