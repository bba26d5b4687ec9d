// Where a query row of attention and its keys lie: sequences packed one after another or apart, keys in one piece or in
// pages, and which keys the row sees by position. Every scalar attention kernel asks here.
#pragma once

#include <cstdint>

#include "kernels/args.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

/// Calls f.operator()<F>() for the constant F that equals `format`, one that outputs have: dispatch_format() inside a
/// kernel. The host refuses every other format before the launch.
template <class Function>
__device__ __forceinline__ void with_storage_format(Format format, Function f) {
  switch (format) {
    case Format::f16:
      f.template operator()<Format::f16>();
      break;
    case Format::bf16:
      f.template operator()<Format::bf16>();
      break;
    default:
      f.template operator()<Format::f32>();
  }
}

/// The formats of 8 bits too, which inputs alone have.
template <class Function>
__device__ __forceinline__ void with_format(Format format, Function f) {
  switch (format) {
    case Format::e4m3fn:
      f.template operator()<Format::e4m3fn>();
      break;
    case Format::e5m2:
      f.template operator()<Format::e5m2>();
      break;
    default:
      with_storage_format(format, f);
  }
}

/// One sequence and one query head of it.
struct Sequence {
  int b, h, kv_head;
  int q_first;                  // row of its first query, along axis 2 of q
  int q_length, k_length;       // Sq and Sk: what positions are aligned by
  int length;                   // keys that hold anything
  std::int64_t k_base, v_base;  // of key 0 of kv_head, unless paged
  const std::int32_t* pages;    // of this sequence, or null

  __device__ Sequence(const AttentionArgs& a, int sequence, int head) : b(sequence), h(head) {
    kv_head = static_cast<int>(static_cast<std::int64_t>(h) * a.k_heads / a.q_heads);
    q_first = a.q_start ? a.q_start[b] : 0;
    q_length = a.q_start ? a.q_start[b + 1] - q_first : a.q_length;
    const int k_first = a.k_start ? a.k_start[b] : 0;
    k_length = a.k_start ? a.k_start[b + 1] - k_first : a.k_length;
    if (a.page_table && a.key_length) {
      k_length = a.key_length[b];  // the rest of the pages is room, not keys
    }
    length = a.key_length ? a.key_length[b] : k_length;
    const int k_batch = a.q_start ? 0 : b;
    k_base = k_batch * a.k_stride[0] + kv_head * a.k_stride[1] + k_first * a.k_stride[2];
    v_base = k_batch * a.v_stride[0] + kv_head * a.v_stride[1] + k_first * a.v_stride[2];
    pages = a.page_table ? a.page_table + static_cast<std::int64_t>(b) * a.pages_per_sequence : nullptr;
  }

  __device__ std::int64_t q_offset(const AttentionArgs& a, int query) const {
    const int batch = a.q_start ? 0 : b;
    return batch * a.q_stride[0] + h * a.q_stride[1] + static_cast<std::int64_t>(q_first + query) * a.q_stride[2];
  }
  __device__ std::int64_t k_offset(const AttentionArgs& a, int key) const {
    return pages ? paged(a, a.k_stride, key) : k_base + key * a.k_stride[2];
  }
  __device__ std::int64_t v_offset(const AttentionArgs& a, int key) const {
    return pages ? paged(a, a.v_stride, key) : v_base + key * a.v_stride[2];
  }
  /// Of o and lse.
  __device__ std::int64_t output_row(const AttentionArgs& a, int query) const {
    return a.q_start ? static_cast<std::int64_t>(h) * a.tokens + q_first + query
                     : (static_cast<std::int64_t>(b) * a.q_heads + h) * a.q_length + query;
  }

  /// The key beside the query: causal and window are aligned bottom right.
  __device__ std::int64_t aligned(int query) const { return static_cast<std::int64_t>(query) + k_length - q_length; }
  /// By position the query sees the keys [first_key, last_key), none if that is empty.
  __device__ int first_key(const AttentionArgs& a, int query) const {
    const std::int64_t first = aligned(query) - a.window_left;
    return a.window_left < 0 || first < 0 ? 0 : static_cast<int>(first < length ? first : length);
  }
  __device__ int last_key(const AttentionArgs& a, int query) const {
    std::int64_t last = length;
    if (a.causal && aligned(query) + 1 < last) {
      last = aligned(query) + 1;
    }
    if (a.window_right >= 0 && aligned(query) + a.window_right + 1 < last) {
      last = aligned(query) + a.window_right + 1;
    }
    return static_cast<int>(last < 0 ? 0 : last);
  }
  /// |aligned − key|, as ALiBi counts.
  __device__ float distance(int query, int key) const {
    const std::int64_t d = aligned(query) - key;
    return static_cast<float>(d < 0 ? -d : d);
  }

 private:
  __device__ std::int64_t paged(const AttentionArgs& a, const std::int64_t* stride, int key) const {
    return pages[key / a.page_size] * stride[0] + kv_head * stride[1] + key % a.page_size * stride[2];
  }
};

}  // namespace flashproof::FP_EXECUTOR
