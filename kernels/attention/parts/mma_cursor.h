// The tiles that a block of an mma kernel works through: the plan's chunks in visiting order, clipped to what some row of
// the block sees, in tiles of 64 keys counted from the chunk's first. A chunk of several tiles comes twice, first for its
// maximum alone, since it has one frame.
#pragma once

#include "kernels/attention/parts/mma_tile.h"

namespace flashproof::FP_EXECUTOR {

struct MmaCursor {
  int visit = -1;           // in the plan's order
  int begin = 0;            // first key of the tile
  int start = 0, stop = 0;  // of the clipped chunk; start is a tile's first
  bool only_maximum = false;
  bool first = false, last = false;  // tile of the chunk in which weights are made

  __device__ __forceinline__ int keys() const { return min(kMmaKeys, stop - begin); }

  /// On to the next tile that holds one of the keys [from, to); false behind the last.
  __device__ __forceinline__ bool advance(const AttentionArgs& a, int from, int to) {
    if (visit >= 0 && begin + kMmaKeys < stop) {
      begin += kMmaKeys;
      first = false;
      last = !only_maximum && begin + kMmaKeys >= stop;
      return true;
    }
    if (only_maximum) {
      only_maximum = false;
      begin = start;
      first = true;
      last = false;
      return true;
    }
    while (++visit < a.chunks) {
      const int chunk = a.order[visit];
      start = a.boundary[chunk];
      stop = min(a.boundary[chunk + 1], to);
      if (from > start) start += (from - start) / kMmaKeys * kMmaKeys;
      if (start >= stop) continue;
      begin = start;
      only_maximum = stop - start > kMmaKeys;
      first = last = !only_maximum;
      return true;
    }
    return false;
  }
};

}  // namespace flashproof::FP_EXECUTOR
