// Inputs as the attention kernel reads them: doubles in tiles (layout.h), with the bounds that the radius needs.
#pragma once

#include <cstdint>

#include "reference/problem/formats.h"

namespace flashproof::gpu {

/// A tensor (axis 0, heads, length, depth) on the device.
struct DeviceTensor {
  const void* data;
  Format format;
  std::int64_t stride[4];  // in elements
  int length, depth;
};

/// Of one row of q. `score` bounds the error of a score of this row per unit of a key's norm: |scale|·h_D·u·‖q‖.
/// `quanta` is ‖q‖·2^−t, 2^t the lowest set bit of any component (certificate of exactness, README.md).
struct RowTerms {
  float score, quanta;
};
/// Of one tile, over its keys: the largest ‖k‖, ‖k‖·2^−t and |v|. Behind the tile of K.
struct TileBounds {
  double norm, quanta, value, unused;
};
/// Of one kv head, over all keys: the same, and the largest |v| per column. Bits of non-negative doubles, for atomicMax.
struct HeadBounds {
  unsigned long long norm, quanta, column[128];
};

struct Prepared {
  double* q;  // (q heads) x row blocks x kQueryBlock
  RowTerms* row;
  double* k;  // (kv heads) x tiles x kKeyTile
  double* v;  // (kv heads) x tiles x kTile
  HeadBounds* head;
};

/// q heads and kv heads count through the batch. Keys from key_length[b] on may hold anything and become 0.
/// `scale_error` = |scale|·h_D·u, rounded up.
void prepare(const DeviceTensor& q, const DeviceTensor& k, const DeviceTensor& v, const int* key_length, int batch,
             int q_heads, int k_heads, double scale_error, const Prepared& out);

}  // namespace flashproof::gpu
