// What every tiled attention kernel here shares: who works on what, the tiles in shared memory, their loading, the launch.
// tile_scores.h has the scores and values of a chunk.
//
//   block      128 threads: 16 query rows of one sequence and head, 8 lanes (neighbours in a warp) per row
//   shared     q (16, ld_d), a tile of keys or values (keys, ld) and p (16, chunk) as f32; leading dimensions are
//              multiples of 4 (16-byte loads), the padding is zero. The scores of a whole chunk are held; its k, then
//              its v, pass through the tile a few keys at a time, so that a chunk may be longer than the tile
//   storage    q of any storage format, k and v of any, e4m3fn and e5m2 included; only keys of the sequence are read
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/args.h"
#include "kernels/attention/parts/place.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"
#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/formats.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kTileRows = 16;
inline constexpr int kRowLanes = 8;
inline constexpr int kTileThreads = kTileRows * kRowLanes;
inline constexpr int kMaxTileKeys = 64;
inline constexpr int kMaxHeadDim = 576;  // multi-head latent attention has 576 and 512, or 192 and 128
inline constexpr int kMaxValueDim = 512;
inline constexpr std::int64_t kSharedLimit = 232448;  // bytes a block may have on sm_90

/// In place of p for a key that does not count: hidden by position or bias, or with a score of −inf.
inline constexpr float kHidden = -1.0F;

__device__ __host__ inline int leading(int dim) { return (dim + 3) / 4 * 4 + 4; }

/// The shared memory of a block whose rows hold `scores` scores at once.
struct TileShape {
  std::int32_t scores;
  std::int32_t keys;  // in the tile, a multiple of kRowLanes; 0: the scores leave no room

  __host__ TileShape(std::int64_t held, int head_dim, int value_dim) : scores(static_cast<std::int32_t>(held)) {
    const std::int64_t free = kSharedLimit - bytes_of(held, 0, head_dim, value_dim);
    const std::int64_t per_key = bytes_of(held, 1, head_dim, value_dim) - bytes_of(held, 0, head_dim, value_dim);
    const std::int64_t wanted = std::clamp<std::int64_t>(held, kRowLanes, kMaxTileKeys) + kRowLanes - 1;
    keys = static_cast<std::int32_t>(std::clamp<std::int64_t>(free / per_key, 0, wanted) / kRowLanes * kRowLanes);
  }

  __host__ static std::int64_t bytes_of(std::int64_t scores, std::int64_t keys, int head_dim, int value_dim) {
    const std::int64_t widest = std::max(leading(head_dim), leading(value_dim));
    return (kTileRows * (leading(head_dim) + scores) + keys * widest) * static_cast<std::int64_t>(sizeof(float));
  }
  __host__ std::size_t bytes(const AttentionArgs& a) const {
    return static_cast<std::size_t>(bytes_of(scores, keys, a.head_dim, a.value_dim));
  }
  /// The most scores that leave room for a tile.
  __host__ static std::int64_t most_scores(int head_dim, int value_dim) {
    const std::int64_t free = kSharedLimit - bytes_of(0, kRowLanes, head_dim, value_dim);
    return free / (kTileRows * static_cast<std::int64_t>(sizeof(float)));
  }
};

/// Row r of the tile becomes the `dim` numbers at offset(r), 8 lanes a row; columns dim..ld-5 become zero.
template <Format F, class Offset>
__device__ inline void load_rows(float* tile, int ld, const void* base, std::int64_t col_stride, int rows, int dim,
                                 Offset offset) {
  for (int r = static_cast<int>(threadIdx.x) / kRowLanes; r < rows; r += kTileRows) {
    const std::int64_t start = offset(r);
    for (int c = static_cast<int>(threadIdx.x) % kRowLanes; c < ld - 4; c += kRowLanes) {
      tile[r * ld + c] = c < dim ? load<F>(base, start + c * col_stride) : 0.0F;
    }
  }
}

template <class Offset>
__device__ inline void load_tile(float* tile, int ld, Format format, const void* base, std::int64_t col_stride,
                                 int rows, int dim, Offset offset) {
  with_format(format, [&]<Format F>() { load_rows<F>(tile, ld, base, col_stride, rows, dim, offset); });
}

/// One block's place in the problem and its shared memory, the queries loaded.
struct Tile {
  Sequence place;
  int row, lane;    // of this thread: query row in the tile, lane in the row
  int query;        // index of `row` in the sequence; may be beyond q_length
  int first, last;  // keys that the row sees by position
  int ld_d, ld_v, ld_p, keys;
  float *q, *kv, *p;  // p: of this row

  __device__ Tile(const AttentionArgs& a, const TileShape& shape)
      : place(a, static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)) {
    FP_DYNAMIC_SHARED(float, shared);
    row = static_cast<int>(threadIdx.x) / kRowLanes;
    lane = static_cast<int>(threadIdx.x) % kRowLanes;
    query = first_query() + row;
    first = query < place.q_length ? place.first_key(a, query) : 0;
    last = query < place.q_length ? place.last_key(a, query) : 0;
    ld_d = leading(a.head_dim);
    ld_v = leading(a.value_dim);
    ld_p = shape.scores;
    keys = shape.keys;
    q = shared;
    kv = q + kTileRows * ld_d;
    p = kv + keys * (ld_d > ld_v ? ld_d : ld_v) + row * ld_p;
    load_queries(a);
  }

  __device__ static int first_query() { return static_cast<int>(blockIdx.x) * kTileRows; }
  /// The block lies beyond the queries of its sequence.
  __device__ bool idle() const { return first_query() >= place.q_length; }
  /// Some row of the block sees some of the keys [begin, end).
  __device__ bool block_sees(const AttentionArgs& a, int begin, int end) const {
    const int last_query = min(first_query() + kTileRows, place.q_length) - 1;
    return place.first_key(a, first_query()) < end && begin < place.last_key(a, last_query);
  }
  __device__ void load_queries(const AttentionArgs& a) const {
    const int first = first_query();
    load_tile(q, ld_d, a.format, a.q, a.q_stride[3], min(kTileRows, place.q_length - first), a.head_dim,
              [&](int r) { return place.q_offset(a, first + r); });
  }
};

/// One chunk of the plan, clipped to the keys of the sequence; skip(): there is nothing to do for the whole block.
template <class Variant>
struct Chunk {
  int begin, keys;
  bool skip;

  __device__ Chunk(const AttentionArgs& a, const Tile& tile, int visit) {
    begin = a.boundary[a.order[visit]];
    keys = min(a.boundary[a.order[visit] + 1], tile.place.length) - begin;
    // A published form meets a chunk that every row hides as its formula has it.
    skip = keys <= 0 || (Variant::kGuardsEmpty && !tile.block_sees(a, begin, begin + keys));
  }
};

/// Calls launch_groups.operator()<kGroups>() with enough groups of 32 value columns.
template <class Launcher>
void dispatch_groups(int value_dim, Launcher launcher) {
  if (value_dim <= 32) {
    launcher.template operator()<1>();
  } else if (value_dim <= 128) {
    launcher.template operator()<4>();
  } else if (value_dim <= 256) {
    launcher.template operator()<8>();
  } else {
    launcher.template operator()<16>();
  }
}

inline dim3 tile_grid(const AttentionArgs& args) {
  const std::int64_t tiles = (static_cast<std::int64_t>(args.q_length) + kTileRows - 1) / kTileRows;
  return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(args.q_heads), static_cast<unsigned>(args.batch));
}

/// Launches kernels(std::integral_constant<int, kGroups>) for every tile of queries; the rows of a block hold `scores`
/// scores.
template <class Kernels>
void launch_tiled(const AttentionArgs& args, std::int64_t scores, Stream stream, Kernels kernels) {
  const TileShape shape(scores, args.head_dim, args.value_dim);
  dispatch_groups(args.value_dim, [&]<int kGroups>() {
    launch(kernels(std::integral_constant<int, kGroups>()), tile_grid(args), dim3(kTileThreads), shape.bytes(args),
           stream, args, shape);
  });
}

/// A row's sums in its lanes; every score and weight by the accurate functions.
constexpr Arithmetic tiled_arithmetic(Reduction reduction, Ending ending) {
  return {.reduction = reduction,
          .exp_error = kDetExpError,
          .log_error = kDetLogError,
          .tanh_error = kDetTanhError,
          .lanes = kRowLanes,
          .ending = ending};
}

}  // namespace flashproof::FP_EXECUTOR
