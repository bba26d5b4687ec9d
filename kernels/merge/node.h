// A state of a merge as its weights see it, and the join of two. A join gives the two factors that every element of o
// takes; which factors, is a rule's business:
//
//   struct Rule {
//     static constexpr bool kGuardsEmpty;  // false: join() sees every state as it is stored
//     static constexpr bool kSums;         // states are (m, l, O); the root's l divides O. false: (o, lse), no ending
//     static Joined join(Node a, Node b);  // hardened: of two that are neither empty nor poisoned
//     static float scaled(float value, float factor);
//   };
#pragma once

#include "kernels/args.h"
#include "kernels/maximum.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

/// In place of a factor: this side is an empty state, its o does not count whatever it holds.
inline constexpr float kDropped = -1.0F;

/// The sum of weights l e^frame; frame = −inf: no weight at all; NaN: the row is NaN. lse where states are normalised.
struct Node {
  float frame;
  float l;
};
inline constexpr Node kEmptyNode = {-std::numeric_limits<float>::infinity(), 0.0F};

struct Joined {
  float keep, add;  // factors of the left and of the right side
  Node node;
};

/// State `state` of a row as it takes part.
template <class Rule>
__device__ __forceinline__ Node read_node(const MergeArgs& a, int state, std::int64_t row) {
  const float frame = a.lse_in[state * a.lse_state + row * a.lse_row];
  const float l = Rule::kSums && a.l_in ? a.l_in[state * a.l_state + row * a.l_row] : 1.0F;
  if (!Rule::kGuardsEmpty) {
    return {frame, l};
  }
  if (frame == kMinusInf) {
    return {frame, 0.0F};  // whatever its l holds
  }
  // 0, or NaN where one of them is NaN or infinite.
  const float poison = __fadd_rn(__fsub_rn(frame, frame), __fsub_rn(l, l));
  return {l == 0.0F && poison == 0.0F ? kMinusInf : __fadd_rn(frame, poison), l};
}

template <class Rule>
__device__ __forceinline__ Joined joined(const Node& a, const Node& b) {
  if (Rule::kGuardsEmpty) {
    if (b.frame == kMinusInf) {
      return {1.0F, kDropped, a};
    }
    if (a.frame == kMinusInf) {
      return {kDropped, 1.0F, b};
    }
  }
  return Rule::join(a, b);
}

/// One element of the joined state.
template <class Rule>
__device__ __forceinline__ float joined_value(float left, float right, float keep, float add) {
  if (keep == kDropped) {
    return right;
  }
  return add == kDropped ? left : __fadd_rn(Rule::scaled(left, keep), Rule::scaled(right, add));
}

template <class Rule>
__device__ __forceinline__ float lse_of(const Node& root) {
  if (!Rule::kSums || (Rule::kGuardsEmpty && root.frame == kMinusInf)) {
    return root.frame;
  }
  return __fadd_rn(root.frame, math_log(root.l));
}

/// What every element of a row is divided by at its end: l of un-normalised states; NaN for a poisoned row.
template <class Rule>
__device__ __forceinline__ float divisor_of(const Node& root) {
  if (Rule::kGuardsEmpty && det::is_nan(root.frame)) {
    return root.frame;
  }
  const bool empty = Rule::kGuardsEmpty && root.frame == kMinusInf;  // its elements are 0
  return Rule::kSums && !empty ? root.l : 1.0F;
}

}  // namespace flashproof::FP_EXECUTOR
