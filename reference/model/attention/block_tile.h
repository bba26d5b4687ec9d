// A tile of a matrix unit's steps at once: D = A·B + D for the 16x8x16 shape of mma.m16n8k16, every element the bits that
// block_fma() gives. Factors are taken apart once for the whole tile, and eight columns go through the steps together.
#pragma once

#include <cstdint>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/formats.h"

namespace flashproof {

inline constexpr int kTileM = 16, kTileN = 8, kTileK = 16;

struct BlockTile {
  std::uint16_t a[kTileM][kTileK];  // patterns of f16 or bf16
  std::uint16_t b[kTileK][kTileN];
  float d[kTileM][kTileN];
};

/// unit.k divides 16: the k of one step are neighbours, the steps follow one another, each with the last one's result for
/// its c.
void block_fma_tile(const BlockFma& unit, Format format, BlockTile& tile);

}  // namespace flashproof
