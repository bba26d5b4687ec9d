// Chunks of any size and order, each with its own maximum and sum, joined to a running (m, l); a second pass normalises.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) / l[r];  lse[r] = m[r] + ln l[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no chunk, o there is 0; lse (rows)
//   launch     grid = rows; block = 128 (4 warps); the chunk plan is an argument
//   edges      published: any chunk that is all −inf gives −inf − (−inf) = NaN for the row. hardened: reference semantics
//   arithmetic f32; per chunk in its own frame m̃: lane t sums columns t, t+128, ... left to right, butterfly in the warp
//              (5), left fold over the warps (4); joined by l·e^{m−m'} + l̃·e^{m̃−m'} (two products, one sum, not fused);
//              exp accurate; one division per output
//   source     seed 003 ("Chunk Update": m̃, m and l; the same in the summary's FlashAttention form)
//   chosen     fixed by the seed: m̃ and both rescales. Open there and chosen here: m = −inf and l = 0 at the start; the
//              order inside a chunk; no fma; division at the end; max ignores NaN when published

#include "kernels/softmax/parts/whole_row.h"

namespace flashproof::FP_EXECUTOR {

template <Format F, class Variant>
__global__ void online_chunk(SoftmaxArgs a) {
  FP_SHARED(float, partial, kRowWarps);
  const int row = static_cast<int>(blockIdx.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const std::int64_t base = row * a.x_row;

  float m = kMinusInf;
  float l = 0.0F;
  for (int n = 0; n < a.chunks; ++n) {
    const int begin = a.boundary[a.order[n]];
    const int end = min(a.boundary[a.order[n] + 1], length);
    if (begin >= end) {
      continue;  // nothing of this row in the chunk
    }
    const float m_chunk = columns_maximum<F, Variant>(a, base, begin, end, partial);
    if (Variant::kGuardsEmpty && m_chunk == kMinusInf) {
      continue;
    }
    const float l_chunk = columns_sum<F>(a, base, begin, end, m_chunk, partial);
    const float m_new = larger<Variant>(m, m_chunk);
    l = __fadd_rn(__fmul_rn(l, math_exp(__fsub_rn(m, m_new))), __fmul_rn(l_chunk, math_exp(__fsub_rn(m_chunk, m_new))));
    m = m_new;
  }

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  store_quotients<F>(a, row, length, m, l, empty);
  if (threadIdx.x == 0) {
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(m, math_log(l)));
  }
}

template <class Variant>
void launch_online_chunk(const SoftmaxArgs& args, Stream stream) {
  dispatch_format(args.format, [&]<Format F>() {
    launch(online_chunk<F, Variant>, dim3(static_cast<unsigned>(args.rows)), dim3(kRowThreads), 0, stream, args);
  });
}

inline constexpr Arithmetic kSoftmaxOnlineChunkArithmetic = row_arithmetic(Reduction::chunked_local, Ending::divide);

std::span<const KernelDeclaration> softmax_online_chunk() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.online_chunk.published", kSoftmaxOnlineChunkArithmetic,
                  launch_online_chunk<SoftmaxPublished>),
      declaration("softmax.online_chunk.hardened", kSoftmaxOnlineChunkArithmetic, launch_online_chunk<SoftmaxHardened>),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
