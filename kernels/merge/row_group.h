// Who works on what in every merge kernel, and how it reads and writes o.
//
//   block      128 threads and a group of rows. Thread r makes the factors of row r of the group, once, in shared memory;
//              then `lanes` neighbouring threads share a row, 16 bytes of it each
//   access     16 bytes a thread where the columns of o_in lie side by side, rows and states start at multiples of 16
//              bytes and dv fills them; else element by element. The arithmetic of an element is the same: same bits
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/args.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"
#include "reference/problem/problems.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kMergeThreads = 128;
inline constexpr int kMergeMaxStates = 4096;  // a row's factors are held in shared memory

struct RowGroup {
  int rows;   // of a block, at most kMergeThreads
  int lanes;  // of a row, a power of two
};

/// Elements of 16 bytes.
template <Format F>
inline constexpr int kPieceElements = F == Format::f32 ? 4 : 8;

/// Up to 16 bytes of one row of one state.
template <Format F, bool kVector>
struct Piece {
  float elements[kPieceElements<F>];

  __device__ __forceinline__ void load(const MergeArgs& a, std::int64_t start, int column) {
    const int count = min(kPieceElements<F>, a.dv - column);
#pragma unroll
    for (int i = 0; i < kPieceElements<F>; ++i) {
      elements[i] = i < count ? flashproof::FP_EXECUTOR::load<F>(a.o_in, start + (column + i) * a.o_col) : 0.0F;
    }
  }
  __device__ __forceinline__ float operator[](int i) const { return elements[i]; }
};

template <Format F>
struct Piece<F, true> {
  uint4 bits;  // converted only where it is used, so that several loads are under way at once

  __device__ __forceinline__ void load(const MergeArgs& a, std::int64_t start, int column) {
    constexpr int kBytes = 16 / kPieceElements<F>;
    bits = load_u32x4(static_cast<const char*>(a.o_in) + (start + column) * kBytes);
  }
  __device__ __forceinline__ float operator[](int i) const {
    if constexpr (F == Format::f32) {
      return __uint_as_float(word(i));
    } else {
      const auto half = static_cast<std::uint16_t>(word(i / 2) >> (i % 2 * 16));
      return F == Format::f16 ? storage::from_f16(half) : storage::from_bf16(half);
    }
  }
  __device__ __forceinline__ unsigned word(int i) const {
    return i == 0 ? bits.x : i == 1 ? bits.y : i == 2 ? bits.z : bits.w;
  }
};

template <Format F, bool kVector>
__device__ __forceinline__ void store_piece(const MergeArgs& a, std::int64_t start, int column,
                                            const float (&value)[kPieceElements<F>]) {
  if constexpr (kVector) {
    unsigned word[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (F == Format::f32) {
        word[i] = __float_as_uint(det::choose(det::is_nan(value[i]), det::kNan, value[i]));
      } else {
        const unsigned low = F == Format::f16 ? storage::to_f16(value[2 * i]) : storage::to_bf16(value[2 * i]);
        const unsigned high = F == Format::f16 ? storage::to_f16(value[2 * i + 1]) : storage::to_bf16(value[2 * i + 1]);
        word[i] = low | high << 16;
      }
    }
    constexpr int kBytes = 16 / kPieceElements<F>;
    store_u32x4(static_cast<char*>(a.o) + (start + column) * kBytes, make_uint4(word[0], word[1], word[2], word[3]));
  } else {
    const int count = min(kPieceElements<F>, a.dv - column);
#pragma unroll
    for (int i = 0; i < kPieceElements<F>; ++i) {
      if (i < count) {
        store<F>(a.o, start + column + i, value[i]);
      }
    }
  }
}

/// The end of a row: a divisor of 1 leaves it, NaN makes it NaN.
template <Format F, bool kVector>
__device__ __forceinline__ void store_divided(const MergeArgs& a, std::int64_t start, int column, float divisor,
                                              float (&value)[kPieceElements<F>]) {
#pragma unroll
  for (int c = 0; c < kPieceElements<F>; ++c) {
    value[c] = divisor == 1.0F ? value[c] : __fdiv_rn(value[c], divisor);
  }
  store_piece<F, kVector>(a, start, column, value);
}

/// Where block c of a row begins in o: c = 0 for a sum.
__device__ __forceinline__ std::int64_t output_start(const MergeArgs& a, std::int64_t row, int block) {
  return a.concat ? (row * a.states + block) * a.dv : row * a.dv;
}

/// Enough blocks to fill a large GPU, enough rows in each for the factors' latency not to count and, up to kMostRows, for
/// every thread to have lanes of one.
template <Format F>
constexpr RowGroup row_group(const MergeArgs& a, std::int64_t floats_per_row) {
  constexpr std::int64_t kSharedFloats = 4096;  // of a block, unless one row needs more
  constexpr std::int64_t kMostRows = 32;
  static_assert(kMostRows <= kMergeThreads, "thread r makes the factors of row r");
  RowGroup g{.rows = 1, .lanes = 1};
  while (g.lanes < 32 && g.lanes * kPieceElements<F> < a.dv) {
    g.lanes *= 2;
  }
  const std::int64_t busy = std::min<std::int64_t>(kMergeThreads / g.lanes, kMostRows);
  const std::int64_t wanted = std::clamp<std::int64_t>(a.rows / 2048, busy, kMostRows);
  const std::int64_t fitting = std::max<std::int64_t>(kSharedFloats / floats_per_row, 1);
  g.rows = static_cast<int>(std::min(wanted, fitting));
  return g;
}

inline bool is_aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

template <Format F>
bool takes_pieces(const MergeArgs& a) {
  constexpr int kElements = kPieceElements<F>;
  return a.o_col == 1 && a.dv % kElements == 0 && a.o_row % kElements == 0 && a.o_state % kElements == 0 &&
         is_aligned(a.o_in) && is_aligned(a.o);
}

/// Calls launcher.operator()<F, kVector>(group, grid, bytes of shared memory).
template <class Launcher>
void dispatch_merge(const MergeArgs& args, std::int64_t floats_per_row, Launcher launcher) {
  dispatch_format(args.format, [&]<Format F>() {
    const RowGroup group = row_group<F>(args, floats_per_row);
    const dim3 grid((static_cast<unsigned>(args.rows) + group.rows - 1) / group.rows);
    const auto bytes = static_cast<std::size_t>(group.rows * floats_per_row) * sizeof(float);
    if (takes_pieces<F>(args)) {
      launcher.template operator()<F, true>(group, grid, bytes);
    } else {
      launcher.template operator()<F, false>(group, grid, bytes);
    }
  });
}

/// Of every merge kernel: more states than a block has room for.
inline std::string too_many_states(const Problem& problem) {
  const std::int64_t states = std::get<MergeProblem>(problem).o.shape[0];
  if (states <= kMergeMaxStates) {
    return {};
  }
  return "n = " + std::to_string(states) + " states: the factors are held in shared memory, legal range 1.." +
         std::to_string(kMergeMaxStates);
}

}  // namespace flashproof::FP_EXECUTOR
