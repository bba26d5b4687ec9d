// Where numbers lie in the device tier's tiles. prepare.cu writes them so, attention.cu reads them so, and layout_test.cc
// checks both against the fragment tables of the PTX manual without a GPU.
//
// mma.m16n8k16.f64 (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"): with g = lane / 4 and
// t = lane % 4 a lane holds
//   A (16 x 16)  a[i], i < 8:  row g + 8 (i % 2),  column (slot) t + 4 (i / 2)
//   B (16 x 8)   b[i], i < 4:  row (slot) t + 4 i, column g
//   C (16 x 8)   c[i], i < 4:  row g + 8 (i / 2),  column 2 t + i % 2
// The order of the 16 products of one step is free, so slot t + 4 i stands for whatever index suits both operands:
//   Q Kᵀ  component 4 t + i of the step's 16
//   W V   key 8 (i / 2) + 2 t + i % 2 of the step's 16: the columns of C, so that the weights stay in their lane.
// A lane reads its part of a tile in pairs of doubles; the 32 pairs of a warp lie side by side (no bank conflict).
#pragma once

#ifdef __CUDACC__
#define FLASHPROOF_LAYOUT __host__ __device__ constexpr
#else
#define FLASHPROOF_LAYOUT constexpr
#endif

namespace flashproof::gpu {

inline constexpr int kDepth = 128;    // d and dv are padded to this with zeros
inline constexpr int kKeys = 32;      // per tile of K and V
inline constexpr int kWarps = 8;      // per block
inline constexpr int kWarpRows = 16;  // query rows per warp
inline constexpr int kRows = kWarps * kWarpRows;
inline constexpr int kChunkTiles = 4;   // tiles per partial sum of W V; of the last, W |V| is summed too
inline constexpr int kExtraChunks = 8;  // partial sums that may end earlier
inline constexpr int kLanes = 32;

inline constexpr int kTile = kKeys * kDepth;  // doubles
/// Behind a tile of K: three bounds of the tile (TileBounds) and one unused double.
inline constexpr int kKeyTile = kTile + 4;
inline constexpr int kQueryBlock = kRows * kDepth;

inline constexpr int kStep = 16;                  // products per output of one mma
inline constexpr int kSteps = kDepth / kStep;     // of Q Kᵀ
inline constexpr int kKeyGroups = kKeys / 8;      // columns of Q Kᵀ, 8 keys each
inline constexpr int kKeySteps = kKeys / kStep;   // of W V
inline constexpr int kColumnGroups = kDepth / 8;  // columns of W V

/// Of the first double of pair `pair` of a lane, in fragment `fragment`; a fragment has `pairs` pairs per lane.
FLASHPROOF_LAYOUT int pair_offset(int fragment, int pairs, int pair, int lane) {
  return ((fragment * pairs + pair) * kLanes + lane) * 2;
}
/// A of Q Kᵀ for one warp: pair p holds a[2p] and a[2p + 1], the two rows of one component.
FLASHPROOF_LAYOUT int query_pair(int step, int pair, int lane) { return pair_offset(step, 4, pair, lane); }
/// B of Q Kᵀ: pair p holds b[2p] and b[2p + 1].
FLASHPROOF_LAYOUT int key_pair(int group, int step, int pair, int lane) {
  return pair_offset(group * kSteps + step, 2, pair, lane);
}
/// B of W V: as key_pair.
FLASHPROOF_LAYOUT int value_pair(int step, int group, int pair, int lane) {
  return pair_offset(step * kColumnGroups + group, 2, pair, lane);
}

/// Where component c of row r (of a block of kRows) goes.
FLASHPROOF_LAYOUT int query_offset(int r, int c) {
  const int row = r % kWarpRows, in_step = c % kStep;
  const int lane = row % 8 * 4 + in_step / 4;
  return r / kWarpRows * kWarpRows * kDepth + query_pair(c / kStep, in_step % 4, lane) + row / 8;
}
/// Where component c of key j (of a tile) goes.
FLASHPROOF_LAYOUT int key_offset(int j, int c) {
  const int in_step = c % kStep, i = in_step % 4;
  return key_pair(j / 8, c / kStep, i / 2, j % 8 * 4 + in_step / 4) + i % 2;
}
/// Where component c of value j (of a tile) goes.
FLASHPROOF_LAYOUT int value_offset(int j, int c) {
  const int in_step = j % kStep, i = in_step / 8 * 2 + in_step % 2;
  return value_pair(j / kStep, c / 8, i / 2, c % 8 * 4 + in_step % 8 / 2) + i % 2;
}

}  // namespace flashproof::gpu
