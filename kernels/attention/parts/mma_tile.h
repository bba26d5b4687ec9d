// Tiles of 16-bit numbers in shared memory for the mma attention kernels: how they lie, how they get there, how they
// become fragments.
//
//   rows       `leading` numbers long, a multiple of 64; the 16-byte pieces of a row are exchanged among neighbours by
//              the row's last three bits, so that eight rows of a matrix lie in different banks
//   loading    cp.async of 16 bytes where base and strides allow it, else element by element; what is beyond the last
//              row or column is zero
#pragma once

#include "kernels/args.h"
#include "kernels/simt/cpu/matrix.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kMmaKeys = 64;   // of a tile
inline constexpr int kMmaRows = 16;   // queries of a warp
inline constexpr int kMmaWarps = 4;   // of a block where d and dv are known, else at most
inline constexpr int kMmaGroup = 16;  // keys, or columns, of one step of mma
inline constexpr int kMmaMaxDim = 256;
inline constexpr int kPiece = 8;  // numbers in 16 bytes
inline constexpr unsigned kWholeWarp = 0xffffffffU;

/// Of a launch; the host computes it once.
struct MmaShape {
  int d, dv;              // padded with zeros to multiples of 16
  int ld_d, ld_v;         // leading dimensions
  bool q_16, k_16, v_16;  // 16-byte copies are possible
  float c_hat;            // fl(scale · log2 e)
};

__device__ __forceinline__ int piece_at(int leading, int row, int piece) {
  return row * leading + (piece ^ (row & 7)) * kPiece;
}

/// Where 16-bit numbers are in global memory: (row, column) -> element.
struct MmaSource {
  const std::uint16_t* data;
  std::int64_t row_stride, column_stride;
  bool by_16;
};

template <int kRank>
__device__ __forceinline__ MmaSource mma_source(const void* data, const std::int64_t (&stride)[kRank], int b, int h,
                                                bool by_16) {
  return {static_cast<const std::uint16_t*>(data) + b * stride[0] + h * stride[1], stride[2], stride[3], by_16};
}

/// Rows [begin, begin + rows) of a matrix that is kWidth wide into the first kRoom rows of the tile, zeros below.
template <int kWidth, int kRoom, int kThreads>
__device__ __forceinline__ void copy_rows(std::uint16_t* tile, const MmaSource& source, int begin, int rows) {
  constexpr int kPieces = kWidth / kPiece;
  constexpr int kStride = kThreads / kPieces;  // rows that the block copies at once
  static_assert(kThreads % kPieces == 0 && kStride % 8 == 0 && kRoom % kStride == 0, "a thread keeps its piece");
  const int row = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
  std::uint16_t* const to = tile + piece_at(kWidth, row, piece);
  const std::uint16_t* from = source.data + (begin + row) * source.row_stride + piece * kPiece;
  const std::int64_t step = kStride * source.row_stride;
#pragma unroll
  for (int i = 0; i < kRoom / kStride; ++i) {
    const bool valid = row + i * kStride < rows;
    cp_async_16(to + i * kStride * kWidth, valid ? from : source.data, valid);
    from += step;
  }
}

/// The same for any width and any number of threads: into the first `room` rows, `columns` of each are numbers, up to the
/// padded width zeros.
__device__ inline void load_rows(std::uint16_t* tile, int leading, const MmaSource& source, int begin, int rows,
                                 int room, int columns, int padded) {
  const int pieces = padded / kPiece;
  const int threads = static_cast<int>(blockDim.x);
  for (int i = static_cast<int>(threadIdx.x); i < room * pieces; i += threads) {
    const int row = i / pieces, piece = i % pieces;
    std::uint16_t* const to = tile + piece_at(leading, row, piece);
    const std::int64_t from = (begin + row) * source.row_stride;
    if (source.by_16) {
      const bool valid = row < rows && piece * kPiece < columns;
      cp_async_16(to, valid ? source.data + from + piece * kPiece : source.data, valid);
      continue;
    }
    std::uint32_t word[kPiece / 2];
    for (int w = 0; w < kPiece / 2; ++w) {
      word[w] = 0;
      for (int e = 0; e < 2; ++e) {
        const int column = piece * kPiece + 2 * w + e;
        if (row < rows && column < columns) {
          const auto bits = storage::load_bits<std::uint16_t>(source.data, from + column * source.column_stride);
          word[w] |= static_cast<std::uint32_t>(bits) << (16 * e);
        }
      }
    }
    store_u32x4(to, make_uint4(word[0], word[1], word[2], word[3]));
  }
}

/// A fragment of mma's a: 16 rows from `row` on, columns [16 step, 16 step + 16).
__device__ __forceinline__ void query_fragment(std::uint32_t (&a)[4], const std::uint16_t* tile, int leading, int row,
                                               int step) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  ldmatrix_x4(a, tile + piece_at(leading, row + lane % 16, 2 * step + lane / 16));
}

/// Two fragments of b for q·k: keys [16 group, 16 group + 8) and the eight after them, columns [16 step, 16 step + 16).
__device__ __forceinline__ void key_fragments(std::uint32_t (&low)[2], std::uint32_t (&high)[2],
                                              const std::uint16_t* tile, int leading, int group, int step) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::uint32_t r[4];
  ldmatrix_x4(r, tile + piece_at(leading, kMmaGroup * group + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
  low[0] = r[0];
  low[1] = r[1];
  high[0] = r[2];
  high[1] = r[3];
}

/// Two fragments of b for p·v: keys [16 step, 16 step + 16), columns [16 group, 16 group + 8) and the eight after them.
__device__ __forceinline__ void value_fragments(std::uint32_t (&low)[2], std::uint32_t (&high)[2],
                                                const std::uint16_t* tile, int leading, int group, int step) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::uint32_t r[4];
  ldmatrix_x4_trans(r, tile + piece_at(leading, kMmaGroup * step + lane % 16, 2 * group + lane / 16));
  low[0] = r[0];
  low[1] = r[1];
  high[0] = r[2];
  high[1] = r[3];
}

}  // namespace flashproof::FP_EXECUTOR
