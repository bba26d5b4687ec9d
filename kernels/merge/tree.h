// States joined two at a time along a tree, by a rule (node.h). The tree is an input; without one it is balanced over the
// visiting order: neighbours join, round by round, an odd last one waits.
//
// The walk is the same for all rows: a first launch lays it out in the workspace, in post-order with the deeper side of
// each join first, so that a thread needs ⌊log2 n⌋ + 1 open sums and no memory for the nodes (Sethi & Ullman 1970).
#pragma once

#include "kernels/merge/node.h"
#include "kernels/merge/row_group.h"
#include "kernels/run/workspace.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kOpenSums = 13;  // of 4096 states
static_assert(kMergeMaxStates < 1 << kOpenSums);

/// The workspace: n states are nodes 0..n-1 in visiting order, join k makes node n + k.
struct TreeWalk {
  std::int32_t* joins;    // (2(n − 1)): left and right of every join
  std::int32_t* parents;  // (2n − 1): 2k, a left side of join k, or 2k + 1; −1: the root
  std::int32_t* steps;    // (2n − 1): a node below n, its state; or n + 2k, join k, + 1: its right side came first
  std::int32_t* open;     // (2n − 1): sums that a node needs open; scratch
  std::int32_t* stack;    // (n + 1): scratch

  __device__ TreeWalk(const MergeArgs& a) {
    joins = static_cast<std::int32_t*>(a.workspace.data);
    parents = joins + 2 * a.states;
    steps = parents + 2 * a.states;
    open = steps + 2 * a.states;
    stack = open + 2 * a.states;
  }
};
inline std::int64_t tree_workspace_bytes(std::int64_t states) {
  return (9 * states + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
}
inline std::int64_t tree_workspace(const Problem& problem) {
  return tree_workspace_bytes(std::get<MergeProblem>(problem).o.shape[0]);
}

/// One thread; `parents` serves as the round of nodes that wait until it is filled.
__device__ inline void balance(const TreeWalk& walk, int states) {
  for (int i = 0; i < states; ++i) {
    walk.parents[i] = i;
  }
  int made = 0;
  for (int waiting = states; waiting > 1; waiting = (waiting + 1) / 2) {
    for (int i = 0; i + 1 < waiting; i += 2) {
      walk.joins[2 * made] = walk.parents[i];
      walk.joins[2 * made + 1] = walk.parents[i + 1];
      walk.parents[i / 2] = states + made;
      ++made;
    }
    if (waiting % 2 == 1) {
      walk.parents[waiting / 2] = walk.parents[waiting - 1];
    }
  }
}

/// One block of one thread. (A template, because a __global__ function cannot be inline.)
template <class Rule>
__global__ void lay_out_tree(MergeArgs a) {
  const TreeWalk walk(a);
  const int n = a.states;
  if (a.joins) {
    for (int k = 0; k < n - 1; ++k) {
      walk.joins[2 * k] = a.joins[k].left;
      walk.joins[2 * k + 1] = a.joins[k].right;
    }
  } else {
    balance(walk, n);
  }
  for (int node = 0; node < n; ++node) {
    walk.open[node] = 1;
  }
  for (int k = 0; k < n - 1; ++k) {
    const int left = walk.joins[2 * k];
    const int right = walk.joins[2 * k + 1];
    walk.parents[left] = 2 * k;
    walk.parents[right] = 2 * k + 1;
    const int l = walk.open[left];
    const int r = walk.open[right];
    walk.open[n + k] = l == r ? l + 1 : max(l, r);
  }
  walk.parents[2 * n - 2] = -1;
  // From the end: a join, then its second side, then its first.
  int waiting = 0;
  walk.stack[waiting++] = 2 * n - 2;
  for (int at = 2 * n - 2; at >= 0; --at) {
    const int node = walk.stack[--waiting];
    if (node < n) {
      walk.steps[at] = node;
      continue;
    }
    const int left = walk.joins[2 * (node - n)];
    const int right = walk.joins[2 * (node - n) + 1];
    const bool right_first = walk.open[right] > walk.open[left];
    walk.steps[at] = n + 2 * (node - n) + (right_first ? 1 : 0);
    walk.stack[waiting++] = right_first ? right : left;
    walk.stack[waiting++] = right_first ? left : right;
  }
}

/// Of one row: every node, and the two factors of every join; rows side by side.
struct TreeFactors {
  float *frames, *sums, *keep_add, *divisor;
  int rows;

  __device__ TreeFactors(float* shared, const MergeArgs& a, const RowGroup& g) : rows(g.rows) {
    frames = shared;
    sums = frames + 2 * a.states * rows;
    keep_add = sums + 2 * a.states * rows;
    divisor = keep_add + 2 * a.states * rows;
  }
  __device__ Node node(int i, int row) const { return {frames[i * rows + row], sums[i * rows + row]}; }
  __device__ void set_node(int i, int row, const Node& node) const {
    frames[i * rows + row] = node.frame;
    sums[i * rows + row] = node.l;
  }
  __device__ float& factor(int side, int row) const { return keep_add[side * rows + row]; }
};
inline std::int64_t tree_floats(const MergeArgs& a) { return 6 * static_cast<std::int64_t>(a.states) + 1; }

template <class Rule>
__device__ inline void tree_row(const MergeArgs& a, const TreeWalk& walk, const TreeFactors& f, int r,
                                std::int64_t row) {
  for (int i = 0; i < a.states; ++i) {
    f.set_node(i, r, read_node<Rule>(a, a.order[i], row));
  }
  for (int k = 0; k < a.states - 1; ++k) {
    const Joined step = joined<Rule>(f.node(walk.joins[2 * k], r), f.node(walk.joins[2 * k + 1], r));
    f.factor(2 * k, r) = step.keep;
    f.factor(2 * k + 1, r) = step.add;
    f.set_node(a.states + k, r, step.node);
  }
  const Node root = f.node(2 * a.states - 2, r);
  f.divisor[r] = divisor_of<Rule>(root);
  store<Format::f32>(a.lse, row, lse_of<Rule>(root));
}

/// State i of the row into `value`; zeros where it is empty.
template <Format F, bool kVector>
__device__ __forceinline__ void tree_leaf(const MergeArgs& a, const TreeFactors& f, int i, int r, std::int64_t row,
                                          int column, float (&value)[kPieceElements<F>]) {
  if (f.frames[i * f.rows + r] == kMinusInf) {
#pragma unroll
    for (float& element : value) {
      element = 0.0F;
    }
    return;
  }
  Piece<F, kVector> piece;
  piece.load(a, a.order[i] * a.o_state + row * a.o_row, column);
#pragma unroll
  for (int c = 0; c < kPieceElements<F>; ++c) {
    value[c] = piece[c];
  }
}

template <Format F, class Rule, bool kVector>
__device__ __forceinline__ void tree_sum(const MergeArgs& a, const TreeWalk& walk, const TreeFactors& f, int r,
                                         std::int64_t row, int column) {
  constexpr int kElements = kPieceElements<F>;
  float open[kOpenSums][kElements];
  int count = 0;
  for (int at = 0; at < 2 * a.states - 1; ++at) {
    const int step = walk.steps[at];
    if (step < a.states) {
      tree_leaf<F, kVector>(a, f, step, r, row, column, open[count++]);
      continue;
    }
    const int join = (step - a.states) / 2;
    const bool right_first = (step - a.states) % 2 == 1;
    const float keep = f.factor(2 * join, r);
    const float add = f.factor(2 * join + 1, r);
    --count;
    const float(&later)[kElements] = open[count];
    float(&first)[kElements] = open[count - 1];
#pragma unroll
    for (int c = 0; c < kElements; ++c) {
      first[c] = right_first ? joined_value<Rule>(later[c], first[c], keep, add)
                             : joined_value<Rule>(first[c], later[c], keep, add);
    }
  }
  store_divided<F, kVector>(a, output_start(a, row, 0), column, f.divisor[r], open[0]);
}

/// Every block takes the factors on its way to the root, one by one.
template <Format F, class Rule, bool kVector>
__device__ __forceinline__ void tree_blocks(const MergeArgs& a, const TreeWalk& walk, const TreeFactors& f, int r,
                                            std::int64_t row, int column) {
  constexpr int kElements = kPieceElements<F>;
  for (int i = 0; i < a.states; ++i) {
    float value[kElements];
    tree_leaf<F, kVector>(a, f, i, r, row, column, value);
    const bool empty = f.frames[i * f.rows + r] == kMinusInf;
    for (int side = walk.parents[i]; side >= 0 && !empty; side = walk.parents[a.states + side / 2]) {
#pragma unroll
      for (int c = 0; c < kElements; ++c) {
        value[c] = Rule::scaled(value[c], f.factor(side, r));
      }
    }
    store_divided<F, kVector>(a, output_start(a, row, a.order[i]), column, f.divisor[r], value);
  }
}

template <Format F, class Rule, bool kVector>
__global__ void join_tree(MergeArgs a, RowGroup g) {
  FP_DYNAMIC_SHARED(float, shared);
  const TreeWalk walk(a);
  const TreeFactors factors(shared, a, g);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * g.rows;
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(g.rows), a.rows - first));
  const int t = static_cast<int>(threadIdx.x);
  if (t < rows) {
    tree_row<Rule>(a, walk, factors, t, first + t);
  }
  __syncthreads();
  for (int r = t / g.lanes; r < rows; r += kMergeThreads / g.lanes) {
    for (int column = t % g.lanes * kPieceElements<F>; column < a.dv; column += g.lanes * kPieceElements<F>) {
      if (a.concat) {
        tree_blocks<F, Rule, kVector>(a, walk, factors, r, first + r, column);
      } else {
        tree_sum<F, Rule, kVector>(a, walk, factors, r, first + r, column);
      }
    }
  }
}

template <class Rule>
void launch_tree(const MergeArgs& args, Stream stream) {
  require_workspace(args.workspace, tree_workspace_bytes(args.states));
  launch(lay_out_tree<Rule>, dim3(args.rows > 0 ? 1 : 0), dim3(1), 0, stream, args);
  dispatch_merge(args, tree_floats(args), [&]<Format F, bool kVector>(RowGroup group, dim3 grid, std::size_t bytes) {
    launch(join_tree<F, Rule, kVector>, grid, dim3(kMergeThreads), bytes, stream, args, group);
  });
}

}  // namespace flashproof::FP_EXECUTOR
