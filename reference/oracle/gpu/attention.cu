// One block: 128 query rows of one head, 8 warps of 16 rows; a warp keeps its 16 x 128 sums in registers and walks over
// tiles of 32 keys. The tiles of K and V come alternately, by bulk copies, into a ring of three slots; the last warp that
// is done with a slot starts the next copy into it, so no warp waits for another but through the ring. One warp's
// exponentials run beside another's matrix products.
#include "reference/oracle/gpu/attention.h"

#include "reference/oracle/gpu/attention_tile.h"
#include "reference/oracle/gpu/device.h"
#include "reference/oracle/gpu/mma.h"

namespace flashproof::gpu {
namespace {

constexpr int kSlots = 3;
constexpr int kThreads = kWarps * kLanes;

/// Over the 16 rows of a warp. Rows that see nothing have first = last = 0.
struct Range {
  int lowest_first, highest_first, lowest_last, highest_last;
};

struct Shared {
  double q[kQueryBlock];
  double slot[kSlots][kKeyTile];
  double pending[kRows];  // what a row's sums in global memory have yet to be multiplied with
  RowTerms row[kRows];
  std::uint64_t loaded[kSlots], q_loaded;
  std::uint32_t released[kSlots];
  const double *k, *v;  // the first tiles
  Range range[kWarps];
  int first, last;
};
static_assert(sizeof(Shared) <= 227 * 1024);

__device__ Range range_of(const Visible* visible, int row, int rows) {
  const int i = row + threadIdx.x % kWarpRows;
  const Visible v = i < rows ? visible[i] : Visible{0, 0};
  const bool sees = v.first < v.last;
  Range range{sees ? v.first : 0x7fffffff, v.first, v.last, sees ? v.last : 0};
#pragma unroll
  for (int step = kWarpRows / 2; step > 0; step /= 2) {
    range.lowest_first = min(range.lowest_first, __shfl_xor_sync(kAllLanes, range.lowest_first, step));
    range.highest_first = max(range.highest_first, __shfl_xor_sync(kAllLanes, range.highest_first, step));
    range.lowest_last = min(range.lowest_last, __shfl_xor_sync(kAllLanes, range.lowest_last, step));
    range.highest_last = max(range.highest_last, __shfl_xor_sync(kAllLanes, range.highest_last, step));
  }
  return range;
}

/// The tiles of one block, alternately of K and of V, through the ring of slots.
struct Ring {
  Shared& shared;
  int items;

  __device__ void start(int item) const {
    const int slot = item % kSlots;
    const bool key = item % 2 == 0;
    const double* from = key ? shared.k + static_cast<std::int64_t>(item / 2) * kKeyTile
                             : shared.v + static_cast<std::int64_t>(item / 2) * kTile;
    start_copy(shared.slot[slot], from, (key ? kKeyTile : kTile) * sizeof(double), &shared.loaded[slot]);
  }
  __device__ const double* wait(int item) const {
    wait_for(&shared.loaded[item % kSlots], item / kSlots % 2);
    return shared.slot[item % kSlots];
  }
  /// This warp reads the item no more.
  __device__ void release(int item) const {
    __syncwarp();
    if (threadIdx.x % kLanes != 0) return;
    const bool last = count_up(&shared.released[item % kSlots]) % kWarps == kWarps - 1;
    if (last && item + kSlots < items) start(item + kSlots);
  }
};

__global__ void __launch_bounds__(kThreads, 1) attention_kernel(const __grid_constant__ AttentionArguments arguments) {
  extern __shared__ __align__(128) unsigned char raw[];
  Shared& shared = *reinterpret_cast<Shared*>(raw);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const int row_block = arguments.row_blocks - 1 - static_cast<int>(blockIdx.x);  // causal: the longest rows first
  const int head = blockIdx.y, batch = head / arguments.q_heads, h = head % arguments.q_heads;
  const std::int64_t block = static_cast<std::int64_t>(head) * arguments.row_blocks + row_block;

  if (threadIdx.x == 0) {
    shared.first = 0x7fffffff, shared.last = 0;
    for (int slot = 0; slot < kSlots; ++slot) make_barrier(&shared.loaded[slot]), shared.released[slot] = 0;
    make_barrier(&shared.q_loaded);
    publish_barriers();
  }
  if (threadIdx.x < kRows) {
    shared.row[threadIdx.x] = arguments.in.row[block * kRows + threadIdx.x];
    shared.pending[threadIdx.x] = 1;
  }
  __syncthreads();
  {
    const Range range = range_of(arguments.visible + static_cast<std::int64_t>(batch) * arguments.q_length,
                                 row_block * kRows + warp * kWarpRows, arguments.q_length);
    if (lane == 0) {
      shared.range[warp] = range;
      atomicMin(&shared.first, range.lowest_first), atomicMax(&shared.last, range.highest_last);
    }
  }
  __syncthreads();
  const int first_tile = shared.last > 0 ? shared.first / kKeys : 0;
  const int tiles = (shared.last + kKeys - 1) / kKeys - first_tile;

  const Ring ring{shared, 2 * tiles};
  if (threadIdx.x == 0 && tiles > 0) {
    const std::int64_t kv = batch * arguments.k_heads + h * arguments.k_heads / arguments.q_heads;
    shared.k = arguments.in.k + (kv * arguments.tiles + first_tile) * kKeyTile;
    shared.v = arguments.in.v + (kv * arguments.tiles + first_tile) * kTile;
    start_copy(shared.q, arguments.in.q + block * kQueryBlock, kQueryBlock * sizeof(double), &shared.q_loaded);
    for (int item = 0; item < kSlots && item < ring.items; ++item) ring.start(item);
  }

  Row rows[2];
  const double sink = arguments.sink == nullptr ? kNoReference : arguments.sink[h];
#pragma unroll
  for (Row& row : rows) row = {sink, sink > kNoReference && lane % 4 == 0 ? 1.0 : 0.0, 0, 0};
  if (fabs(sink) > kLargestReference && sink > kNoReference)
    rows[0].r = rows[1].r = __longlong_as_double(0x7ff0000000000000LL);
  double o[kColumnGroups][4];
#pragma unroll
  for (auto& group : o) {
#pragma unroll
    for (double& x : group) x = 0;
  }
  const std::int64_t warp_row = block * kRows + warp * kWarpRows;
  const int own_row = warp * kWarpRows + lane / 4;  // and own_row + 8
  const double* q = shared.q + warp * kWarpRows * kDepth;
  if (tiles > 0) wait_for(&shared.q_loaded, 0);
  __syncthreads();  // shared.k and v, for the threads that start the next copies

  int extra = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int begin = (first_tile + tile) * kKeys, end = begin + kKeys;
    const Range& range = shared.range[warp];
    if (end <= range.lowest_first || begin >= range.highest_last) {  // no row of this warp sees a key
      for (int item = 2 * tile; item < 2 * tile + 2; ++item) {
        ring.wait(item);  // a warp that ran ahead would take one use of a slot for another
        ring.release(item);
      }
      continue;
    }
    // The partial sums end every kChunkTiles tiles and with the last key; also where a row sees part of the tile and at
    // the first tile, so that W |V|, which is summed where they end, knows rows that see few keys.
    const bool masked = begin < range.highest_first || end > range.lowest_last;
    bool chunk_ends = tile % kChunkTiles == kChunkTiles - 1 || end >= range.highest_last;
    if (!chunk_ends && extra < kExtraChunks && (masked || begin <= range.lowest_first)) chunk_ends = true, ++extra;

    double w[kKeySteps][8];
    {
      double s[kKeyGroups][4];
      const double* k = ring.wait(2 * tile);
      scores(s, q, k, lane);
      const TileBounds bounds = *reinterpret_cast<const TileBounds*>(k + kTile);
      ring.release(2 * tile);

      if (masked) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int i = row_block * kRows + warp * kWarpRows + lane / 4 + 8 * half;
          const Visible visible = i < arguments.q_length
                                      ? arguments.visible[static_cast<std::int64_t>(batch) * arguments.q_length + i]
                                      : Visible{0, 0};
#pragma unroll
          for (int group = 0; group < kKeyGroups; ++group) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const int j = begin + 8 * group + lane % 4 * 2 + e;
              if (j < visible.first || j >= visible.last) s[group][2 * half + e] = copysign(kHidden, -arguments.scale);
            }
          }
        }
      }

      float largest = -1;
#pragma unroll
      for (int group = 0; group < kKeyGroups; ++group) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          largest = fmaxf(largest, high_word(__fma_rn(arguments.scale, s[group][i], -rows[i / 2].m)));
        }
      }
      if (__any_sync(kAllLanes, largest > high_word(kRise))) {
        follow(rows, o, s, arguments.scale, arguments.h_n_u, shared.pending + own_row, lane);
      }
      weigh(w, s, rows, arguments.scale, arguments.h_n_u, shared.row + own_row, bounds);
    }

    const double* v = ring.wait(2 * tile + 1);
#pragma unroll 1
    for (bool signs = true;; signs = false) {  // second round, at the end of a chunk: the same with |V|
      values(o, w, v, signs ? ~0 : 0x7fffffff, lane);
      if (!chunk_ends) break;
      __syncwarp();  // pending, from follow()
      flush(o, arguments.o + warp_row * kDepth, arguments.absolute + warp_row * kDepth, shared.pending + own_row, signs,
            arguments.value_factor, lane);
      if (!signs) break;
    }
    ring.release(2 * tile + 1);  // has a __syncwarp()
    if (chunk_ends && lane < kWarpRows) shared.pending[warp * kWarpRows + lane] = 1;
    __syncwarp();
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Row& row = rows[half];
#pragma unroll
    for (int step = 1; step <= 2; step *= 2) {
      row.l = __dadd_rn(row.l, __shfl_xor_sync(kAllLanes, row.l, step));
      row.r += __shfl_xor_sync(kAllLanes, row.r, step);
      row.rv += __shfl_xor_sync(kAllLanes, row.rv, step);
    }
    if (lane % 4 == 0) arguments.state[warp_row + lane / 4 + 8 * half] = {row.m, row.l, row.r, row.rv};
  }
}

}  // namespace

void attention(const AttentionArguments& arguments) {
  check(cudaFuncSetAttribute(attention_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
        "shared memory of the attention kernel");
  attention_kernel<<<dim3(arguments.row_blocks, arguments.batch * arguments.q_heads), kThreads, sizeof(Shared)>>>(
      arguments);
  check_launch("attention_kernel");
}

}  // namespace flashproof::gpu
