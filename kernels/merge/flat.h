// All states at once: one maximum over their lse, a weight each, one weighted sum.
#pragma once

#include "kernels/merge/forms.h"
#include "kernels/merge/node.h"
#include "kernels/merge/row_group.h"

namespace flashproof::FP_EXECUTOR {

/// shifted: e^{λ_c − M} over their sum; division_free: e^{λ_c − λ}, which sum to 1 as well as λ is right.
enum class FlatWeights : std::uint8_t { shifted, division_free };

struct FlatFactors {
  float* weights;  // of the state visited as the k-th; rows side by side
  float* divisor;
  int rows;

  __device__ FlatFactors(float* shared, const MergeArgs& a, const RowGroup& g)
      : weights(shared), divisor(shared + a.states * g.rows), rows(g.rows) {}
  __device__ float& weight(int k, int row) const { return weights[k * rows + row]; }
};
inline std::int64_t flat_floats(const MergeArgs& a) { return static_cast<std::int64_t>(a.states) + 1; }

template <FlatWeights kWeights>
__device__ inline void flat_row(const MergeArgs& a, const FlatFactors& f, int r, std::int64_t row) {
  const auto lse_at = [&](int k) { return a.lse_in[a.order[k] * a.lse_state + row * a.lse_row]; };
  float largest = kMinusInf;
  for (int k = 0; k < a.states; ++k) {
    largest = max_nan(largest, lse_at(k));
  }
  const bool empty = largest == kMinusInf;
  const float poison = empty ? 0.0F : __fsub_rn(largest, largest);  // NaN where the largest is NaN or +inf
  float sum = 0.0F;
  for (int k = 0; k < a.states; ++k) {
    const float own = lse_at(k);
    const float weight = own == kMinusInf ? kDropped : math_exp(__fsub_rn(own, largest));
    sum = weight == kDropped ? sum : __fadd_rn(sum, weight);
    f.weight(k, r) = weight;
  }
  const float lse = empty ? kMinusInf : __fadd_rn(__fadd_rn(largest, poison), math_log(sum));
  if (kWeights == FlatWeights::division_free) {
    for (int k = 0; k < a.states; ++k) {
      const float own = lse_at(k);
      f.weight(k, r) = own == kMinusInf ? kDropped : math_exp(__fsub_rn(own, lse));
    }
  }
  f.divisor[r] = empty ? 1.0F : __fadd_rn(kWeights == FlatWeights::shifted ? sum : 1.0F, poison);
  store<Format::f32>(a.lse, row, lse);
}

template <Format F, bool kVector>
__device__ __forceinline__ void flat_sum(const MergeArgs& a, const FlatFactors& f, int r, std::int64_t row,
                                         int column) {
  constexpr int kAhead = 8;  // loads under way
  float sum[kPieceElements<F>] = {};
  for (int first = 0; first < a.states; first += kAhead) {
    Piece<F, kVector> piece[kAhead] = {};
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = first + i;
      if (k < a.states && f.weight(k, r) != kDropped) {
        piece[i].load(a, a.order[k] * a.o_state + row * a.o_row, column);
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = first + i;
      if (k < a.states && f.weight(k, r) != kDropped) {
#pragma unroll
        for (int c = 0; c < kPieceElements<F>; ++c) {
          sum[c] = __fmaf_rn(f.weight(k, r), piece[i][c], sum[c]);
        }
      }
    }
  }
  store_divided<F, kVector>(a, output_start(a, row, 0), column, f.divisor[r], sum);
}

template <Format F, bool kVector>
__device__ __forceinline__ void flat_blocks(const MergeArgs& a, const FlatFactors& f, int r, std::int64_t row,
                                            int column) {
  for (int k = 0; k < a.states; ++k) {
    const int state = a.order[k];
    float value[kPieceElements<F>] = {};
    if (f.weight(k, r) != kDropped) {
      Piece<F, kVector> piece;
      piece.load(a, state * a.o_state + row * a.o_row, column);
#pragma unroll
      for (int c = 0; c < kPieceElements<F>; ++c) {
        value[c] = __fmul_rn(f.weight(k, r), piece[c]);
      }
    }
    store_divided<F, kVector>(a, output_start(a, row, state), column, f.divisor[r], value);
  }
}

template <Format F, FlatWeights kWeights, bool kVector>
__global__ void combine_flat(MergeArgs a, RowGroup g) {
  FP_DYNAMIC_SHARED(float, shared);
  const FlatFactors factors(shared, a, g);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * g.rows;
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(g.rows), a.rows - first));
  const int t = static_cast<int>(threadIdx.x);
  if (t < rows) {
    flat_row<kWeights>(a, factors, t, first + t);
  }
  __syncthreads();
  for (int r = t / g.lanes; r < rows; r += kMergeThreads / g.lanes) {
    for (int column = t % g.lanes * kPieceElements<F>; column < a.dv; column += g.lanes * kPieceElements<F>) {
      if (a.concat) {
        flat_blocks<F, kVector>(a, factors, r, first + r, column);
      } else {
        flat_sum<F, kVector>(a, factors, r, first + r, column);
      }
    }
  }
}

template <FlatWeights kWeights>
void launch_flat(const MergeArgs& args, Stream stream) {
  dispatch_merge(args, flat_floats(args), [&]<Format F, bool kVector>(RowGroup group, dim3 grid, std::size_t bytes) {
    launch(combine_flat<F, kWeights, kVector>, grid, dim3(kMergeThreads), bytes, stream, args, group);
  });
}

}  // namespace flashproof::FP_EXECUTOR
