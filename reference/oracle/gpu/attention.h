// The fused fp64 attention kernel: sums and what their radii are made of. Derivation: README.md.
#pragma once

#include "reference/oracle/gpu/layout.h"
#include "reference/oracle/gpu/prepare.h"

namespace flashproof::gpu {

/// Keys [first, last) of a query.
struct Visible {
  int first, last;
};

/// m before the first key, and a sink of −inf: far below every score (at most 2^391), far above a hidden key's.
inline constexpr double kNoReference = -0x1p700;

/// Of one row, relative to its reference m: weights w_j = e^(x_j − m). Where r is not finite nothing is known but m.
struct RowState {
  double m;   // kNoReference if and only if the row has neither key nor sink
  double l;   // Σ w_j
  double r;   // bounds Σ |w_j − true w_j|
  double rv;  // bounds Σ (|w_j − true w_j| + h_N u w_j) max_c |v_jc|
};

struct AttentionArguments {
  Prepared in;
  const Visible* visible;  // (batch, q length)
  const double* sink;      // (q heads) or null; kNoReference for none
  double scale;            // of the problem; times 1 + 2^-30 to plant an error in Q Kᵀ
  double value_factor;     // 1; 1 + 2^-30 plants an error in W V
  double h_n_u;            // h_N u of README.md
  int batch, q_heads, k_heads, q_length, row_blocks, tiles;
  // Per padded row ((head · row_blocks) · kRows + r), kDepth columns; o and absolute come in as 0.
  double* o;        // Σ w_j v_jc
  float* absolute;  // at most Σ w_j |v_jc|: the last tile of every chunk of kChunkTiles, rounded down
  RowState* state;
};

void attention(const AttentionArguments& arguments);

}  // namespace flashproof::gpu
