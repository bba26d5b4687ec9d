// What the tensors of a problem, and of what a kernel makes of it, are called in the reports of a race shadow.
#pragma once

#include <vector>

#include "kernels/simt/shadow.h"
#include "reference/problem/problems.h"

namespace flashproof {

inline void watch(simt::ScopedShadow& shadow, const char* name, const Tensor& tensor) {
  shadow.watch(name, simt::Global::input, tensor.data(), tensor.storage.size(),
               static_cast<std::size_t>(bytes_of(tensor.format)));
}

template <class T>
void watch(simt::ScopedShadow& shadow, const char* name, const std::vector<T>& values) {
  shadow.watch(name, simt::Global::input, values.data(), values.size() * sizeof(T), sizeof(T));
}

inline void watch_inputs(simt::ScopedShadow& shadow, const SoftmaxProblem& p) {
  watch(shadow, "x", p.x);
  watch(shadow, "row_length", p.row_length);
  watch(shadow, "boundary", p.plan.boundary);
  watch(shadow, "order", p.plan.order);
}

inline void watch_inputs(simt::ScopedShadow& shadow, const MergeProblem& p) {
  watch(shadow, "o_in", p.o);
  watch(shadow, "lse_in", p.lse);
  watch(shadow, "l_in", p.l);
  watch(shadow, "order", p.order);
  watch(shadow, "joins", p.joins);
}

inline void watch_inputs(simt::ScopedShadow& shadow, const AttentionProblem& p) {
  watch(shadow, "q", p.q);
  watch(shadow, "k", p.k);
  watch(shadow, "v", p.v);
  watch(shadow, "bias", p.bias);
  watch(shadow, "alibi", p.alibi);
  watch(shadow, "sink", p.sink);
  watch(shadow, "key_length", p.key_length);
  watch(shadow, "q_start", p.q_start);
  watch(shadow, "k_start", p.k_start);
  watch(shadow, "page_table", p.page_table);
  watch(shadow, "boundary", p.plan.boundary);
  watch(shadow, "order", p.plan.order);
}

inline void watch_inputs(simt::ScopedShadow& shadow, const BackwardProblem& p) {
  watch_inputs(shadow, p.forward);
  watch(shadow, "d_out", p.d_out);
  watch(shadow, "o", p.o);
  watch(shadow, "lse", p.lse);
}

/// The tensor that a kernel writes at `data`; the workspace too.
inline void watch_output(simt::ScopedShadow& shadow, const char* name, const void* data, const Tensor& tensor) {
  shadow.watch(name, simt::Global::output, data, tensor.storage.size(),
               static_cast<std::size_t>(bytes_of(tensor.format)));
}

}  // namespace flashproof
