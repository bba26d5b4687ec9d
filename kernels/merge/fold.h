// States joined from left to right in the given order, two at a time, by a rule (node.h).
#pragma once

#include "kernels/merge/node.h"
#include "kernels/merge/row_group.h"

namespace flashproof::FP_EXECUTOR {

/// keep and add of the step that takes in the state visited as the k-th, and what divides the row; rows side by side.
struct FoldFactors {
  float* keep_add;
  float* divisor;
  int rows;

  __device__ FoldFactors(float* shared, const MergeArgs& a, const RowGroup& g)
      : keep_add(shared), divisor(shared + 2 * a.states * g.rows), rows(g.rows) {}
  __device__ float& keep(int k, int row) const { return keep_add[2 * k * rows + row]; }
  __device__ float& add(int k, int row) const { return keep_add[(2 * k + 1) * rows + row]; }
};
inline std::int64_t fold_floats(const MergeArgs& a) { return 2 * static_cast<std::int64_t>(a.states) + 1; }

template <class Rule>
__device__ inline void fold_row(const MergeArgs& a, const FoldFactors& f, int r, std::int64_t row) {
  Node node = kEmptyNode;
  for (int k = 0; k < a.states; ++k) {
    const Node next = read_node<Rule>(a, a.order[k], row);
    // An unguarded fold starts with its first state.
    const Joined step = !Rule::kGuardsEmpty && k == 0 ? Joined{kDropped, 1.0F, next} : joined<Rule>(node, next);
    f.keep(k, r) = step.keep;
    f.add(k, r) = step.add;
    node = step.node;
  }
  f.divisor[r] = divisor_of<Rule>(node);
  store<Format::f32>(a.lse, row, lse_of<Rule>(node));
}

/// kRows rows at once, `step` apart and below `rows`, so that few states, too, keep several loads under way.
template <Format F, class Rule, bool kVector, int kRows>
__device__ __forceinline__ void fold_sums(const MergeArgs& a, const FoldFactors& f, int r, int step, int rows,
                                          std::int64_t first_row, int column) {
  constexpr int kElements = kPieceElements<F>;
  constexpr int kAhead = kRows > 1 ? 2 : 4;  // loads under way in a row
  float sum[kRows][kElements] = {};
  for (int first = 0; first < a.states; first += kAhead) {
    Piece<F, kVector> piece[kAhead][kRows] = {};
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = first + i;
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        const int row = r + j * step;
        if (k < a.states && row < rows && f.add(k, row) != kDropped) {
          piece[i][j].load(a, a.order[k] * a.o_state + (first_row + row) * a.o_row, column);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = first + i;
#pragma unroll
      for (int j = 0; j < kRows; ++j) {
        const int row = r + j * step;
        if (k < a.states && row < rows && f.add(k, row) != kDropped) {
#pragma unroll
          for (int c = 0; c < kElements; ++c) {
            sum[j][c] = joined_value<Rule>(sum[j][c], piece[i][j][c], f.keep(k, row), f.add(k, row));
          }
        }
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    const int row = r + j * step;
    if (row < rows) {
      store_divided<F, kVector>(a, output_start(a, first_row + row, 0), column, f.divisor[row], sum[j]);
    }
  }
}

/// Every block takes the factors of the steps after its own, one by one.
template <Format F, class Rule, bool kVector>
__device__ __forceinline__ void fold_blocks(const MergeArgs& a, const FoldFactors& f, int r, std::int64_t row,
                                            int column) {
  constexpr int kElements = kPieceElements<F>;
  for (int k = 0; k < a.states; ++k) {
    const int state = a.order[k];
    float value[kElements] = {};
    if (f.add(k, r) != kDropped) {
      Piece<F, kVector> piece;
      piece.load(a, state * a.o_state + row * a.o_row, column);
#pragma unroll
      for (int c = 0; c < kElements; ++c) {
        value[c] = f.keep(k, r) == kDropped ? piece[c] : Rule::scaled(piece[c], f.add(k, r));
      }
      for (int later = k + 1; later < a.states; ++later) {
#pragma unroll
        for (int c = 0; c < kElements; ++c) {
          value[c] = Rule::scaled(value[c], f.keep(later, r));
        }
      }
    }
    store_divided<F, kVector>(a, output_start(a, row, state), column, f.divisor[r], value);
  }
}

template <Format F, class Rule, bool kVector, int kRows>
__global__ void fold_states(MergeArgs a, RowGroup g) {
  FP_DYNAMIC_SHARED(float, shared);
  const FoldFactors factors(shared, a, g);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * g.rows;
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(g.rows), a.rows - first));
  const int t = static_cast<int>(threadIdx.x);
  if (t < rows) {
    fold_row<Rule>(a, factors, t, first + t);
  }
  __syncthreads();
  const int step = kMergeThreads / g.lanes;
  for (int r = t / g.lanes; r < rows; r += kRows * step) {
    for (int column = t % g.lanes * kPieceElements<F>; column < a.dv; column += g.lanes * kPieceElements<F>) {
      if (!a.concat) {
        fold_sums<F, Rule, kVector, kRows>(a, factors, r, step, rows, first, column);
        continue;
      }
      for (int row = r; row < min(r + kRows * step, rows); row += step) {
        fold_blocks<F, Rule, kVector>(a, factors, row, first + row, column);
      }
    }
  }
}

template <class Rule>
void launch_fold(const MergeArgs& args, Stream stream) {
  dispatch_merge(args, fold_floats(args), [&]<Format F, bool kVector>(RowGroup group, dim3 grid, std::size_t bytes) {
    // Two states are two loads a row: not enough to keep memory busy.
    auto kernel = fold_states<F, Rule, kVector, 1>;
    if (kVector && args.states <= 2) {
      constexpr int kRows = kVector ? 4 : 1;
      kernel = fold_states<F, Rule, kVector, kRows>;
    }
    launch(kernel, grid, dim3(kMergeThreads), bytes, stream, args, group);
  });
}

}  // namespace flashproof::FP_EXECUTOR
