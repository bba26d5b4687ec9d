// Barriers, votes and shuffles. Every thread deposits what it brings and gives way; the one that arrives last computes
// the results of all and makes them runnable.

#include <bit>

#include "kernels/simt/block.h"
#include "kernels/simt/shadow/shadow_state.h"

namespace flashproof::simt {
namespace {

constexpr const char* kNames[] = {"__syncwarp",        "__ballot_sync",      "__any_sync",       "__all_sync",
                                  "__shfl_sync",       "__shfl_up_sync",     "__shfl_down_sync", "__shfl_xor_sync",
                                  "mma_m16n8k16<f16>", "mma_m16n8k16<bf16>", "ldmatrix_x2",      "ldmatrix_x2_trans",
                                  "ldmatrix_x4",       "ldmatrix_x4_trans"};

bool is_matrix(Collective kind) { return kind >= Collective::mma_f16; }
bool is_shuffle(Collective kind) { return kind >= Collective::shfl && !is_matrix(kind); }

/// The lane that a shuffle reads, as the PTX manual defines shfl.sync: operands count modulo 32, a source outside the
/// caller's segment (for xor: above it) is the caller itself.
unsigned source_lane(Collective kind, unsigned lane, unsigned operand, unsigned width) {
  const unsigned first = lane & ~(width - 1);
  const unsigned last = first + width - 1;
  operand %= kLanes;
  switch (kind) {
    case Collective::shfl:
      return first | (operand & (width - 1));
    case Collective::shfl_up:
      return lane >= first + operand ? lane - operand : lane;
    case Collective::shfl_down:
      return lane + operand <= last ? lane + operand : lane;
    default:
      return (lane ^ operand) <= last ? lane ^ operand : lane;
  }
}

/// True if every lane of `self.mask` waits with this very mask. A lane that waits with another mask may still come here
/// later, so it is no error yet.
bool all_here(const Warp& warp, const Thread* lanes, const Thread& self) {
  if ((warp.waiting & self.mask) != self.mask) return false;
  for (std::uint32_t rest = self.mask; rest != 0; rest &= rest - 1) {
    if (lanes[std::countr_zero(rest)].mask != self.mask) return false;
  }
  return true;
}

/// What a shuffle gives that reads a lane outside the mask: undefined on the hardware, NaN here.
constexpr std::uint64_t kPoison = ~std::uint64_t{0};

constexpr std::uint32_t kWholeWarp = 0xffffffff;

[[gnu::noinline]] void complete(Warp& warp, Thread* lanes, Thread& self) {
  std::uint64_t ballot = 0;
  for (std::uint32_t rest = self.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(std::countr_zero(rest));
    const Thread& lane = lanes[i];
    if (lane.collective != self.collective || !same_site(lane.site, self.site)) throw divergent_collective(lane, self);
    ballot |= lane.deposit << i;  // meaningless for shuffles and matrices, which do not read it
  }
  if (is_matrix(self.collective)) run_matrix(self.collective, lanes);
  warp.waiting &= ~self.mask;
  if (active_shadow != nullptr && self.collective == Collective::syncwarp) {
    active_shadow->join_lanes(self.number / kLanes * kLanes, self.mask);
  }
  if (block.queue.policy() == Policy::lifo) block.queue.push(&self);
  for (std::uint32_t rest = self.mask; rest != 0; rest &= rest - 1) {
    Thread& lane = lanes[std::countr_zero(rest)];
    lane.waits = Waits::no;
    if (!is_shuffle(self.collective)) {
      lane.result = ballot;
    } else {
      lane.result = (self.mask >> lane.source & 1) != 0 ? lanes[lane.source].deposit : kPoison;
    }
    if (&lane != &self) block.queue.push(&lane);
  }
  if (block.queue.policy() != Policy::lifo) block.queue.push(&self);
}

[[gnu::always_inline]] inline std::uint64_t meet(Thread& self, Collective kind, std::uint32_t mask,
                                                 std::uint64_t deposit) {
  Warp& warp = block.warp_of(self);
  const std::uint32_t bit = 1u << (self.number % kLanes);
  self.collective = kind;
  self.mask = mask & warp.exists;
  self.deposit = deposit;
  if ((mask & bit) == 0) {
    throw make_fault(FaultKind::bad_argument, self.site, "the mask lacks the calling lane (" + describe(self) + ")");
  }
  if ((self.mask & warp.exited) != 0) throw names_exited_lanes(self);
  self.waits = Waits::warp;
  warp.waiting |= bit;
  Thread* const lanes = &block.threads[self.number / kLanes * kLanes];
  if (all_here(warp, lanes, self)) complete(warp, lanes, self);
  suspend();
  return self.result;
}

}  // namespace

int barrier(bool predicate, const char* name, const char* file, int line) {
  Thread& self = running_thread_at(name, file, line);
  Barrier& barrier = block.barrier;
  self.waits = Waits::barrier;
  if (barrier.count > 0 && !same_site(self.site, barrier.arrived[0]->site)) barrier.mixed = true;
  barrier.votes += predicate;
  barrier.arrived[barrier.count++] = &self;
  if (barrier.count == block.alive) release_barrier(&self);
  suspend();
  return static_cast<int>(self.result);
}

void release_barrier(Thread* last) {
  Barrier& barrier = block.barrier;
  if (barrier.mixed) throw divergent_barrier();
  if (active_shadow != nullptr) active_shadow->barrier();
  const bool newest_first = block.queue.policy() == Policy::lifo;
  if (newest_first && last != nullptr) block.queue.push(last);
  for (unsigned i = 0; i < barrier.count; ++i) {
    Thread* const thread = barrier.arrived[i];
    thread->waits = Waits::no;
    thread->result = static_cast<std::uint64_t>(barrier.votes);
    if (!newest_first || thread != last) block.queue.push(thread);  // in arrival order: `last` is the last one
  }
  barrier.count = 0;
  barrier.votes = 0;
}

std::uint32_t warp_vote(Collective kind, std::uint32_t mask, bool predicate, const char* file, int line) {
  Thread& self = running_thread_at(kNames[static_cast<int>(kind)], file, line);
  return static_cast<std::uint32_t>(meet(self, kind, mask, predicate ? 1 : 0));
}

std::uint64_t warp_shuffle(Collective kind, std::uint32_t mask, std::uint64_t bits, unsigned operand, int width,
                           const char* file, int line) {
  Thread& self = running_thread_at(kNames[static_cast<int>(kind)], file, line);
  if (width < 1 || width > static_cast<int>(kLanes) || !std::has_single_bit(static_cast<unsigned>(width))) {
    throw make_fault(FaultKind::bad_argument, self.site,
                     "width " + std::to_string(width) + "; legal are 1, 2, 4, 8, 16 and 32");
  }
  self.source =
      static_cast<std::uint8_t>(source_lane(kind, self.number % kLanes, operand, static_cast<unsigned>(width)));
  return meet(self, kind, mask, bits);
}

void warp_matrix(Collective kind, void* operands, const char* file, int line) {
  Thread& self = running_thread_at(kNames[static_cast<int>(kind)], file, line);
  const std::uint32_t exists = block.warp_of(self).exists;
  if (exists != kWholeWarp) {
    throw make_fault(FaultKind::bad_argument, self.site,
                     "needs a whole warp, the last one of this block has " + std::to_string(std::popcount(exists)) +
                         " lanes; legal are blocks of a multiple of 32 threads");
  }
  meet(self, kind, kWholeWarp, reinterpret_cast<std::uintptr_t>(operands));
}

}  // namespace flashproof::simt
