// One block per row, the row in registers: every thread streams its strided columns online, a binary tree over shared
// memory combines the (m, s) pairs, then each thread normalises what it holds.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) · (1/s[r]);  lse[r] = m[r] + ln s[r]
//   shapes     x, o (rows, cols); columns beyond row_length are read as −inf; lse (rows)
//   launch     grid = rows; block = 2^k threads, 32..512; cols <= 32 · threads
//   edges      published: cols mod 512 columns at the end are never written; a thread whose first column is −inf starts
//              at −inf − (−inf) = NaN and so does an empty row. hardened: reference semantics
//   arithmetic f32; per column s·e + e' (two products, one sum, nothing fused), tree combine likewise;
//              exp = exp2(fl(x · fl(log2 e))); one reciprocal per row
//   source     seed 004 ("CuTe DSL implementation"); Milakov & Gimelshein 2018, algorithm 3
//   chosen     fixed by the seed: 512 threads, strided columns, the tree, the reciprocal, fastmath exp. Open there and
//              chosen here: products and sums are not contracted into fma; max ignores NaN in the published form
#pragma once

#include <algorithm>
#include <string>

#include "kernels/declaration.h"
#include "kernels/maximum.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"
#include "kernels/softmax/parts/forms.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kOnlineBlockThreads = 512;
inline constexpr int kOnlineBlockPerThread = 32;

/// (m, s) := (m, s) ⊕ (m_b, s_b), the reducer of the seed.
template <class Variant>
__device__ __forceinline__ void combine(float& m, float& s, float m_b, float s_b) {
  const float m_c = larger<Variant>(m, m_b);
  if (Variant::kGuardsEmpty && m_c == kMinusInf) {
    return;  // both empty: stays (−inf, 0)
  }
  s = __fadd_rn(__fmul_rn(s, math_exp_scaled(__fsub_rn(m, m_c))), __fmul_rn(s_b, math_exp_scaled(__fsub_rn(m_b, m_c))));
  m = m_c;
}

template <Format F, class Variant, int kPerThread>
__global__ void online_block(SoftmaxArgs a) {
  FP_SHARED(float, smem_m, kOnlineBlockThreads);
  FP_SHARED(float, smem_s, kOnlineBlockThreads);
  const int row = static_cast<int>(blockIdx.x);
  const int t = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int length = a.row_length ? a.row_length[row] : a.cols;
  const int covered = Variant::kCoversTail ? a.cols : a.cols / threads * threads;

  float x[kPerThread];
  float m = kMinusInf;
  float s = 0.0F;
#pragma unroll
  for (int v = 0; v < kPerThread; ++v) {
    const int col = t + v * threads;
    x[v] = col < length && col < covered ? load<F>(a.x, row * a.x_row + col * a.x_col) : kMinusInf;
    if (col >= covered) {
      break;
    }
    const float m_new = larger<Variant>(m, x[v]);
    if (Variant::kGuardsEmpty && m_new == kMinusInf) {
      continue;
    }
    s = __fadd_rn(__fmul_rn(s, math_exp_scaled(__fsub_rn(m, m_new))), math_exp_scaled(__fsub_rn(x[v], m_new)));
    m = m_new;
  }

  smem_m[t] = m;
  smem_s[t] = s;
  __syncthreads();
  for (int offset = threads / 2; offset > 0; offset /= 2) {
    if (t < offset) {
      float m_a = smem_m[t];
      float s_a = smem_s[t];
      combine<Variant>(m_a, s_a, smem_m[t + offset], smem_s[t + offset]);
      smem_m[t] = m_a;
      smem_s[t] = s_a;
    }
    __syncthreads();
  }

  const float m_row = smem_m[0];
  const float s_row = smem_s[0];
  const bool empty = Variant::kGuardsEmpty && m_row == kMinusInf;
  const float inv_s = math_reciprocal(s_row);
#pragma unroll
  for (int v = 0; v < kPerThread; ++v) {
    const int col = t + v * threads;
    if (col >= covered) {
      break;
    }
    const bool hidden = Variant::kGuardsEmpty && col >= length;  // 0 also in a row of NaN
    const float y = empty || hidden ? 0.0F : __fmul_rn(math_exp_scaled(__fsub_rn(x[v], m_row)), inv_s);
    store<F>(a.o, static_cast<std::int64_t>(row) * a.cols + col, y);
  }
  if (t == 0) {
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(m_row, math_log(s_row)));
  }
}

/// The power of two next to the columns, 32..512.
inline int online_block_lanes(std::int64_t columns) {
  int threads = 32;  // one warp
  while (threads < std::min<std::int64_t>(columns, kOnlineBlockThreads)) {
    threads *= 2;
  }
  return threads;
}

template <class Variant>
void launch_online_block(const SoftmaxArgs& args, Stream stream) {
  const int least = (args.cols + kOnlineBlockPerThread - 1) / kOnlineBlockPerThread;  // the row must fit the registers
  const int wanted = args.threads > 0 ? std::max(args.threads, least) : args.cols;
  const int threads = Variant::kFixedBlock ? kOnlineBlockThreads : online_block_lanes(wanted);
  const int per_thread = (args.cols + threads - 1) / threads;
  dispatch_format(args.format, [&]<Format F>() {
    const dim3 grid(static_cast<unsigned>(args.rows));
    const dim3 block(static_cast<unsigned>(threads));
    if (per_thread <= 2) {
      launch(online_block<F, Variant, 2>, grid, block, 0, stream, args);
    } else if (per_thread <= 8) {
      launch(online_block<F, Variant, 8>, grid, block, 0, stream, args);
    } else {
      launch(online_block<F, Variant, kOnlineBlockPerThread>, grid, block, 0, stream, args);
    }
  });
}

inline std::string online_block_unsupported(const Problem& problem) {
  const auto& p = std::get<SoftmaxProblem>(problem);
  const std::int64_t most = std::int64_t{kOnlineBlockThreads} * kOnlineBlockPerThread;
  if (p.x.shape[1] > most) {
    return "cols = " + std::to_string(p.x.shape[1]) + ": the row is held in registers, legal range 0.." +
           std::to_string(most);
  }
  return {};
}

template <class Variant>
constexpr Arithmetic online_block_arithmetic() {
  return {.reduction = Reduction::strided_online,
          .exponent = Exponent::scaled_exp2,
          .exp_error = kDetExp2Error,
          .log_error = kDetLogError,
          .lanes = Variant::kFixedBlock ? kOnlineBlockThreads : 0,
          .lanes_of = online_block_lanes,
          .ending = Ending::multiply_reciprocal};
}

}  // namespace flashproof::FP_EXECUTOR
