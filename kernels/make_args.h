// Problem + output -> launch arguments. `place` turns a host range into the pointer that the kernel will see: itself on
// the CPU executor, a device copy under CUDA.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "kernels/args.h"
#include "reference/problem/error.h"
#include "reference/problem/problems.h"

namespace flashproof {

template <class Place, class T>
const T* place_vector(Place& place, const std::vector<T>& values) {
  return static_cast<const T*>(place(values.data(), values.size() * sizeof(T)));
}

template <class Place>
const void* place_tensor(Place& place, const Tensor& tensor) {
  return place(tensor.data(), tensor.storage.size());
}

/// What the arguments cannot say must not be dropped on the way, whatever a declaration promises.
template <class P>
void require_plain(const P& problem) {
  if (const auto feature = problem.beyond({})) {
    throw UsageError(std::string(name(*feature)) +
                     ": the launch arguments cannot hold it, legal: " + std::string(absence(*feature)));
  }
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
  require_plain(p);
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
  a.order = place_vector(place, p.order);
  a.concat = p.form == MergeForm::concat;
  return a;
}

template <class Place, class PlaceOutput>
AttentionArgs make_args(const AttentionProblem& p, Output& out, Place place, PlaceOutput place_output) {
  require_plain(p);
  AttentionArgs a{};
  a.q = place_tensor(place, p.q);
  a.k = place_tensor(place, p.k);
  a.v = place_tensor(place, p.v);
  a.bias = p.has_bias() ? static_cast<const float*>(place_tensor(place, p.bias)) : nullptr;
  a.o = place_output(out.o);
  a.lse = static_cast<float*>(place_output(out.lse));
  a.format = p.q.format;
  a.batch = static_cast<std::int32_t>(p.batch());
  a.q_heads = static_cast<std::int32_t>(p.q_heads());
  a.k_heads = static_cast<std::int32_t>(p.k_heads());
  a.q_length = static_cast<std::int32_t>(p.q_length());
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
  a.key_length = p.key_length.empty() ? nullptr : place_vector(place, p.key_length);
  a.boundary = place_vector(place, p.plan.boundary);
  a.order = place_vector(place, p.plan.order);
  a.chunks = p.plan.chunks();
  for (int c = 0; c < a.chunks; ++c) {
    a.max_chunk = std::max(a.max_chunk, p.plan.boundary[c + 1] - p.plan.boundary[c]);
  }
  return a;
}

}  // namespace flashproof
