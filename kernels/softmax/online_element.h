// One pass over the row, one element at a time, by one thread; a second pass normalises.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) / l[r];  lse[r] = m[r] + ln l[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no row, o there is 0; lse (rows)
//   launch     one thread per row, blocks of 32
//   edges      published: −inf before the first number gives −inf − (−inf) = NaN for the row. hardened: reference
//              semantics
//   arithmetic f32; l·e + e' per element (one product, one sum, not fused); exp accurate; one division per output
//   source     seed 003 ("Single-element Update": m_k and l_k); the same in seeds 001 and 002
//   chosen     fixed by the seed: the recurrence and its order. Open there and chosen here: m = −inf and l = 0 at the
//              start; no fma; division at the end; max ignores NaN when published
#pragma once

#include "kernels/declaration.h"
#include "kernels/maximum.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"
#include "kernels/softmax/parts/forms.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kElementRows = 32;  // of a block

template <Format F, class Variant>
__global__ void online_element(SoftmaxArgs a) {
  const int row = static_cast<int>(blockIdx.x) * kElementRows + static_cast<int>(threadIdx.x);
  if (row >= a.rows) {
    return;
  }
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const std::int64_t base = row * a.x_row;
  float m = kMinusInf;
  float l = 0.0F;
  for (std::int64_t j = 0; j < length; ++j) {
    const float x = load<F>(a.x, base + j * a.x_col);
    const float m_new = larger<Variant>(m, x);
    if (Variant::kGuardsEmpty && m_new == kMinusInf) {
      continue;
    }
    l = __fadd_rn(__fmul_rn(l, math_exp(__fsub_rn(m, m_new))), math_exp(__fsub_rn(x, m_new)));
    m = m_new;
  }
  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  for (std::int64_t j = 0; j < a.cols; ++j) {
    float y = 0.0F;
    if (j < length && !empty) {
      y = __fdiv_rn(math_exp(__fsub_rn(load<F>(a.x, base + j * a.x_col), m)), l);
    }
    store<F>(a.o, static_cast<std::int64_t>(row) * a.cols + j, y);
  }
  store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(m, math_log(l)));
}

template <class Variant>
void launch_online_element(const SoftmaxArgs& args, Stream stream) {
  dispatch_format(args.format, [&]<Format F>() {
    const dim3 grid(static_cast<unsigned>((args.rows + std::int64_t{kElementRows} - 1) / kElementRows));
    launch(online_element<F, Variant>, grid, dim3(kElementRows), 0, stream, args);
  });
}

inline constexpr Arithmetic kSoftmaxOnlineElementArithmetic = {.reduction = Reduction::strided_online,
                                                               .exp_error = kDetExpError,
                                                               .log_error = kDetLogError,
                                                               .lanes = 1,
                                                               .ending = Ending::divide};

}  // namespace flashproof::FP_EXECUTOR
