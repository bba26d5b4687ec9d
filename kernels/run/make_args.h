// Problem + output -> launch arguments. `place` turns a host range into the pointer that the kernel will see: itself on
// the CPU executor, a device copy under CUDA.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "kernels/args.h"
#include "reference/problem/problems.h"
#include "reference/system/error.h"

namespace flashproof {

template <class Place, class T>
const T* place_vector(Place& place, const std::vector<T>& values) {
  return static_cast<const T*>(place(values.data(), values.size() * sizeof(T)));
}

template <class Place>
const void* place_tensor(Place& place, const Tensor& tensor) {
  return place(tensor.data(), tensor.storage.size());
}

template <class Place>
const float* place_optional(Place& place, const Tensor& tensor) {
  return tensor.shape.empty() ? nullptr : static_cast<const float*>(place_tensor(place, tensor));
}

/// `place_output(tensor)` returns where the kernel writes.
template <class Place, class PlaceOutput>
SoftmaxArgs make_args(const SoftmaxProblem& p, Output& out, Place place, PlaceOutput place_output) {
  SoftmaxArgs a{};
  a.x = place_tensor(place, p.x);
  a.o = place_output(out.o);
  a.lse = static_cast<float*>(place_output(out.lse));
  a.format = p.x.format;
  a.rows = static_cast<std::int32_t>(p.x.shape[0]);
  a.cols = static_cast<std::int32_t>(p.x.shape[1]);
  a.x_row = p.x.stride[0];
  a.x_col = p.x.stride[1];
  a.row_length = p.row_length.empty() ? nullptr : place_vector(place, p.row_length);
  a.boundary = place_vector(place, p.plan.boundary);
  a.order = place_vector(place, p.plan.order);
  a.chunks = p.plan.chunks();
  return a;
}

template <class Place, class PlaceOutput>
MergeArgs make_args(const MergeProblem& p, Output& out, Place place, PlaceOutput place_output) {
  MergeArgs a{};
  a.o_in = place_tensor(place, p.o);
  a.lse_in = static_cast<const float*>(place_tensor(place, p.lse));
  a.o = place_output(out.o);
  a.lse = static_cast<float*>(place_output(out.lse));
  a.format = p.o.format;
  a.states = static_cast<std::int32_t>(p.o.shape[0]);
  a.rows = static_cast<std::int32_t>(p.o.shape[1]);
  a.dv = static_cast<std::int32_t>(p.o.shape[2]);
  a.o_state = p.o.stride[0];
  a.o_row = p.o.stride[1];
  a.o_col = p.o.stride[2];
  a.lse_state = p.lse.stride[0];
  a.lse_row = p.lse.stride[1];
  if (p.has_l()) {
    a.l_in = static_cast<const float*>(place_tensor(place, p.l));
    a.l_state = p.l.stride[0];
    a.l_row = p.l.stride[1];
  }
  a.order = place_vector(place, p.order);
  a.joins = p.joins.empty() ? nullptr : place_vector(place, p.joins);
  a.concat = p.form == MergeForm::concat;
  return a;
}

template <class Place, class PlaceOutput>
AttentionArgs make_args(const AttentionProblem& p, Output& out, Place place, PlaceOutput place_output) {
  AttentionArgs a{};
  a.q = place_tensor(place, p.q);
  a.k = place_tensor(place, p.k);
  a.v = place_tensor(place, p.v);
  a.bias = p.has_bias() ? static_cast<const float*>(place_tensor(place, p.bias)) : nullptr;
  a.o = place_output(out.o);
  a.lse = static_cast<float*>(place_output(out.lse));
  a.format = p.q.format;
  a.kv_format = p.k.format;
  a.out_format = out.o.format;
  a.batch = static_cast<std::int32_t>(p.sequences());
  a.q_heads = static_cast<std::int32_t>(p.q_heads());
  a.k_heads = static_cast<std::int32_t>(p.k_heads());
  for (std::int64_t n = 0; n < p.sequences(); ++n) {
    a.q_length = std::max(a.q_length, static_cast<std::int32_t>(p.q_length(n)));
  }
  a.k_length = static_cast<std::int32_t>(p.k_length());
  a.head_dim = static_cast<std::int32_t>(p.head_dim());
  a.value_dim = static_cast<std::int32_t>(p.value_dim());
  std::ranges::copy(p.q.stride, a.q_stride);
  std::ranges::copy(p.k.stride, a.k_stride);
  std::ranges::copy(p.v.stride, a.v_stride);
  if (p.has_bias()) {
    std::ranges::copy(p.bias.stride, a.bias_stride);
  }
  a.scale = p.scale;
  a.causal = p.causal;
  a.window_left = p.window_left;
  a.window_right = p.window_right;
  a.softcap = p.softcap;
  a.alibi = place_optional(place, p.alibi);
  a.sink = place_optional(place, p.sink);
  a.q_descale = place_optional(place, p.q_descale);
  a.k_descale = place_optional(place, p.k_descale);
  a.v_descale = place_optional(place, p.v_descale);
  a.key_length = p.key_length.empty() ? nullptr : place_vector(place, p.key_length);
  if (p.packed()) {
    a.q_start = place_vector(place, p.q_start);
    a.tokens = static_cast<std::int32_t>(p.q_length());
    a.k_start = p.k_start.empty() ? nullptr : place_vector(place, p.k_start);
  }
  if (p.paged()) {
    a.page_table = place_vector(place, p.page_table);
    a.page_size = static_cast<std::int32_t>(p.k.shape[2]);
    a.pages_per_sequence = static_cast<std::int32_t>(p.pages_per_sequence());
  }
  a.boundary = place_vector(place, p.plan.boundary);
  a.order = place_vector(place, p.plan.order);
  a.chunks = p.plan.chunks();
  for (int c = 0; c < a.chunks; ++c) {
    a.max_chunk = std::max(a.max_chunk, p.plan.boundary[c + 1] - p.plan.boundary[c]);
  }
  return a;
}

template <class Place, class PlaceOutput>
BackwardArgs make_args(const BackwardProblem& p, Output& out, Place place, PlaceOutput place_output) {
  BackwardArgs a{};
  Output none;  // the forward's outputs are inputs here
  a.forward = make_args(p.forward, none, place, [](Tensor&) -> void* { return nullptr; });
  a.d_out = place_tensor(place, p.d_out);
  a.o = place_tensor(place, p.o);
  a.lse = static_cast<const float*>(place_tensor(place, p.lse));
  a.dq = place_output(out.dq);
  a.dk = place_output(out.dk);
  a.dv = place_output(out.dv);
  a.o_format = p.o.format;
  std::ranges::copy(p.d_out.stride, a.d_out_stride);
  std::ranges::copy(p.o.stride, a.o_stride);
  std::ranges::copy(p.lse.stride, a.lse_stride);
  return a;
}

}  // namespace flashproof
