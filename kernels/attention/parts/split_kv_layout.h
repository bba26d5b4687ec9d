// Who works on what in the split decoding kernels (split_kv.cu has the contract), and what lies where: the shared memory
// of a block, the states of the parts in the workspace.
//
//   block      128 threads: 8 groups of 16 lanes, a group per key; a lane has columns 8t .. 8t + 7 of every set of 128
//   sets       1, 2 or 5, enough for the wider of d and dv
//   shared     sums over groups (warps, 128 · sets), one number per thread, the scores of a chunk; f32
//   workspace  lse (rows, parts) in f32, up to a multiple of 16 bytes; then o (rows, parts, dv) in f32, f16 or bf16
#pragma once

#include <cstdint>

#include "kernels/simt/simt.h"
#include "reference/problem/formats.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kParts = 4;
inline constexpr int kSplitKvThreads = 128;
inline constexpr int kGroupLanes = 16;
inline constexpr int kKeyGroups = kSplitKvThreads / kGroupLanes;
inline constexpr int kSetColumns = 8 * kGroupLanes;  // of one set of eight columns per lane
inline constexpr int kWarps = kSplitKvThreads / 32;

/// Sets of columns that a lane has where the wider of d and dv is `widest`.
constexpr int sets_of_columns(std::int64_t widest) {
  return widest <= kSetColumns ? 1 : widest <= 2 * kSetColumns ? 2 : 5;
}

/// (o, lse) of every part: lse (rows, parts) in f32, then o (rows, parts, dv).
struct PartialStates {
  float* lse;
  void* o;
  Format format;

  static std::int64_t lse_bytes(std::int64_t rows) { return (rows * kParts * 4 + 15) / 16 * 16; }
  static std::int64_t bytes(std::int64_t rows, std::int64_t value_dim, Format format) {
    return lse_bytes(rows) + rows * kParts * value_dim * (format == Format::f32 ? 4 : 2);
  }
};

/// Shared memory of a block: scores (max_chunk), sums over groups (warps, 128 · sets), one number per warp or lane.
struct SplitShared {
  float *p, *sums, *numbers;

  static std::int64_t bytes(std::int64_t max_chunk, int sets) {
    return (max_chunk + kWarps * kSetColumns * sets + kSplitKvThreads) * static_cast<std::int64_t>(sizeof(float));
  }
  __device__ SplitShared(float* shared, int sets) {
    sums = shared;
    numbers = sums + kWarps * kSetColumns * sets;
    p = numbers + kSplitKvThreads;
  }
};

}  // namespace flashproof::FP_EXECUTOR
