// Barriers, shuffles and votes on the CPU executor. Each takes the caller's file and line through default arguments, so
// that a diagnostic names the kernel's own source.
//
// Stricter than the hardware, where that finds bugs: lanes that meet must stand at the same call site, a mask must not
// name a lane that has exited. A lane that never existed (block not a multiple of 32) is simply not there, as on the
// GPU. A shuffle that reads a lane outside the mask gets 0xff bytes, which is NaN; the hardware leaves it undefined.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simt/shadow/shadow.h"

namespace flashproof::simt {

enum class Collective : std::uint8_t {
  syncwarp,
  ballot,
  any,
  all,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  mma_f16,  // from here on of a whole warp: cpu_matrix.h
  mma_bf16,
  ldmatrix_x2,
  ldmatrix_x2_trans,
  ldmatrix_x4,
  ldmatrix_x4_trans,
};

// In collectives.cc. barrier() returns how many threads passed a true predicate.
int barrier(bool predicate, const char* name, const char* file, int line);
std::uint32_t warp_vote(Collective kind, std::uint32_t mask, bool predicate, const char* file, int line);
std::uint64_t warp_shuffle(Collective kind, std::uint32_t mask, std::uint64_t bits, unsigned operand, int width,
                           const char* file, int line);

template <class T>
inline T shuffle(Collective kind, std::uint32_t mask, T value, unsigned operand, int width, const char* file,
                 int line) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "shuffles move 4 or 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = warp_shuffle(kind, mask, bits, operand, width, file, line);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace flashproof::simt

#define FP_CALL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(FP_CALL_SITE) { flashproof::simt::barrier(false, "__syncthreads", file, line); }
inline int __syncthreads_count(int predicate, FP_CALL_SITE) {
  return flashproof::simt::barrier(predicate != 0, "__syncthreads_count", file, line);
}
inline int __syncthreads_or(int predicate, FP_CALL_SITE) {
  return flashproof::simt::barrier(predicate != 0, "__syncthreads_or", file, line) != 0;
}
inline int __syncthreads_and(int predicate, FP_CALL_SITE) {
  return flashproof::simt::barrier(predicate == 0, "__syncthreads_and", file, line) == 0;
}

/// The executor is sequentially consistent; only the race shadow needs to know.
inline void __threadfence() { flashproof::simt::shadow_fence(true); }
inline void __threadfence_block() { flashproof::simt::shadow_fence(false); }

inline void __syncwarp(unsigned mask = 0xffffffffu, FP_CALL_SITE) {
  flashproof::simt::warp_vote(flashproof::simt::Collective::syncwarp, mask, false, file, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, FP_CALL_SITE) {
  return flashproof::simt::warp_vote(flashproof::simt::Collective::ballot, mask, predicate != 0, file, line);
}
inline int __any_sync(unsigned mask, int predicate, FP_CALL_SITE) {
  return flashproof::simt::warp_vote(flashproof::simt::Collective::any, mask, predicate != 0, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, FP_CALL_SITE) {
  return flashproof::simt::warp_vote(flashproof::simt::Collective::all, mask, predicate == 0, file, line) == 0;
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source_lane, int width = 32, FP_CALL_SITE) {
  return flashproof::simt::shuffle(flashproof::simt::Collective::shfl, mask, value, static_cast<unsigned>(source_lane),
                                   width, file, line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, FP_CALL_SITE) {
  return flashproof::simt::shuffle(flashproof::simt::Collective::shfl_up, mask, value, delta, width, file, line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, FP_CALL_SITE) {
  return flashproof::simt::shuffle(flashproof::simt::Collective::shfl_down, mask, value, delta, width, file, line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, FP_CALL_SITE) {
  return flashproof::simt::shuffle(flashproof::simt::Collective::shfl_xor, mask, value,
                                   static_cast<unsigned>(lane_mask), width, file, line);
}

#undef FP_CALL_SITE
