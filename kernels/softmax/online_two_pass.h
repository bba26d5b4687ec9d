// Two passes over the row in chunks of any size and order: pass 1 keeps a running (m, d), pass 2 normalises.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) / d[r];  lse[r] = m[r] + ln d[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no chunk, o there is 0; lse (rows)
//   launch     grid = rows; block = 128 (4 warps); the chunk plan is an argument
//   edges      published: a first chunk that is all −inf gives −inf − (−inf) = NaN for the row.
//              hardened: reference semantics
//   arithmetic f32; per chunk: lane t sums columns t, t+128, ... left to right, butterfly in the warp (5), left fold
//              over the warps (4); d·e + sum (one product, one sum, not fused); exp accurate; one division per output
//   source     seed 001 (listing "online_softmax_kernel" and equations of pass 1 and 2)
//   chosen     fixed by the seed: the recurrence, m = −inf and d = 0 at the start, division in pass 2, chunk 1024.
//              Open there and chosen here: the order inside tl.sum and tl.max (above); no fma; max ignores NaN when
//              published
#pragma once

#include "kernels/softmax/parts/whole_row.h"

namespace flashproof::FP_EXECUTOR {

template <Format F, class Variant>
__global__ void online_two_pass(SoftmaxArgs a) {
  FP_SHARED(float, partial, kRowWarps);
  const int row = static_cast<int>(blockIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const std::int64_t base = row * a.x_row;

  // pass 1: running (m, d)
  float m = kMinusInf;
  float d = 0.0F;
  for (int n = 0; n < a.chunks; ++n) {
    const int begin = a.boundary[a.order[n]];
    const int end = min(a.boundary[a.order[n] + 1], length);
    if (begin >= end) {
      continue;  // nothing of this row in the chunk
    }
    const float m_new = larger<Variant>(m, columns_maximum<F, Variant>(a, base, begin, end, partial));
    if (Variant::kGuardsEmpty && m_new == kMinusInf) {
      continue;
    }
    const float sum = columns_sum<F>(a, base, begin, end, m_new, partial);
    d = __fadd_rn(__fmul_rn(d, math_exp(__fsub_rn(m, m_new))), sum);
    m = m_new;
  }

  // pass 2: normalise
  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  store_quotients<F>(a, row, length, m, d, empty);
  if (threadIdx.x == 0) {
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(m, math_log(d)));
  }
}

template <class Variant>
void launch_online_two_pass(const SoftmaxArgs& args, Stream stream) {
  dispatch_format(args.format, [&]<Format F>() {
    launch(online_two_pass<F, Variant>, dim3(static_cast<unsigned>(args.rows)), dim3(kRowThreads), 0, stream, args);
  });
}

inline constexpr Arithmetic kOnlineTwoPassArithmetic = row_arithmetic(Reduction::chunked_online, Ending::divide);

}  // namespace flashproof::FP_EXECUTOR
