// Which keys a row of an mma tile sees, and what bias, slopes and overflow make of its raw scores. A quad of lanes shares
// two rows, g and g + 8; element 4 n + e of a lane is key 8 n + 2 t + e % 2 of row g + 8 (e / 2).
#pragma once

#include "kernels/attention/parts/mma_tile.h"
#include "kernels/maximum.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kMmaColumns = kMmaKeys / 8;  // fragments of scores

/// The keys [first, last) that a query sees by position: AttentionProblem::visible_keys().
struct KeyRange {
  int first, last;

  __device__ __forceinline__ KeyRange(const AttentionArgs& a, int length, int query) {
    const std::int64_t aligned = static_cast<std::int64_t>(query) + a.k_length - a.q_length;
    std::int64_t from = 0, to = length;
    if (a.causal && aligned + 1 < to) to = aligned + 1;
    if (a.window_right >= 0 && aligned + a.window_right + 1 < to) to = aligned + a.window_right + 1;
    if (a.window_left >= 0 && aligned - a.window_left > from) from = aligned - a.window_left;
    last = to < 0 ? 0 : static_cast<int>(to);
    first = from > last ? last : static_cast<int>(from);
  }
};

/// Where a warp stands in the problem.
struct MmaRows {
  int b, h, kv_head;
  int first;               // query of the warp's row 0
  int query[2];            // this lane's rows, the last one of the sequence in place of rows beyond
  int begin[2], end[2];    // the keys they see
  int all_begin, all_end;  // seen by every row of the warp
  int any_begin, any_end;  // seen by some

  __device__ __forceinline__ MmaRows(const AttentionArgs& a, int length, int row) {
    b = static_cast<int>(blockIdx.z);
    h = static_cast<int>(blockIdx.y);
    kv_head = static_cast<int>(static_cast<std::int64_t>(h) * a.k_heads / a.q_heads);
    first = row;
    const int g = static_cast<int>(threadIdx.x) % 32 / 4;
    for (int r = 0; r < 2; ++r) {
      query[r] = min(row + g + 8 * r, a.q_length - 1);
      const KeyRange keys(a, length, query[r]);
      begin[r] = keys.first;
      end[r] = keys.last;
    }
    // Both ends rise with the query. A warp beyond the last query sees nothing.
    const KeyRange top(a, length, min(row, a.q_length - 1));
    const KeyRange bottom(a, length, min(row + kMmaRows - 1, a.q_length - 1));
    any_begin = top.first;
    any_end = row < a.q_length ? bottom.last : top.first;
    all_begin = bottom.first;
    all_end = top.last;
  }
};

template <Format F>
__device__ inline bool infinite_factor(const AttentionArgs& a, int b, int h, int query, int key) {
  const std::int64_t kv_head = static_cast<std::int64_t>(h) * a.k_heads / a.q_heads;
  const std::int64_t q = b * a.q_stride[0] + h * a.q_stride[1] + query * a.q_stride[2];
  const std::int64_t k = b * a.k_stride[0] + kv_head * a.k_stride[1] + key * a.k_stride[2];
  for (int c = 0; c < a.head_dim; ++c) {
    if (det::is_infinite(load<F>(a.q, q + c * a.q_stride[3])) || det::is_infinite(load<F>(a.k, k + c * a.k_stride[3])))
      return true;
  }
  return false;
}

/// The score of a visible key from its raw product: with bias and slope, in units of scale. −inf for a key that counts
/// for nothing; NaN where a sum of finite numbers has left the range, so that no key is lost in silence.
template <Format F>
__device__ FP_NOINLINE float adjusted(const AttentionArgs& a, int b, int h, int query, int key, float x) {
  if (a.bias != nullptr) {
    const float bias =
        a.bias[b * a.bias_stride[0] + h * a.bias_stride[1] + query * a.bias_stride[2] + key * a.bias_stride[3]];
    if (bias == kMinusInf) return kMinusInf;  // hidden, whatever the product is
    x = __fadd_rn(x, __fdiv_rn(bias, a.scale));
  }
  if (a.alibi != nullptr) {
    const float slope = __fdiv_rn(a.alibi[static_cast<std::int64_t>(b) * a.q_heads + h], a.scale);
    const std::int64_t offset = static_cast<std::int64_t>(query) + a.k_length - a.q_length - key;
    x = __fsub_rn(x, __fmul_rn(slope, static_cast<float>(offset < 0 ? -offset : offset)));
  }
  if (x == kMinusInf && !infinite_factor<F>(a, b, h, query, key)) return __int_as_float(det::kNan);
  return x;
}

/// −inf for the keys of [begin, stop) that a row does not see and for all beyond; returns the bits of the elements that
/// are −inf now.
template <Format F>
__device__ inline std::uint32_t settle_scores(const AttentionArgs& a, const MmaRows& at, int begin, int stop,
                                              float (&s)[kMmaColumns][4]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  const bool shifted = a.bias != nullptr || a.alibi != nullptr;
  std::uint32_t hidden = 0;
#pragma unroll
  for (int n = 0; n < kMmaColumns; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = begin + 8 * n + 2 * t + e % 2;
      const int row = e / 2;
      const bool visible = key >= at.begin[row] && key < at.end[row] && key < stop;
      if (!visible) s[n][e] = kMinusInf;
      if (visible && (shifted || s[n][e] == kMinusInf))
        s[n][e] = adjusted<F>(a, at.b, at.h, at.query[row], key, s[n][e]);
      if (s[n][e] == kMinusInf) hidden |= 1U << (4 * n + e);
    }
  }
  return hidden;
}

}  // namespace flashproof::FP_EXECUTOR
