// What the tensors of a problem, and of what a kernel makes of it, are called in the reports of a race shadow.
#pragma once

#include <string>
#include <vector>

#include "kernels/simt/shadow/shadow.h"
#include "reference/problem/fields.h"

namespace flashproof {

inline void watch(simt::ScopedShadow& shadow, const std::string& name, const Tensor& tensor) {
  shadow.watch(name, simt::Global::input, tensor.data(), tensor.storage.size(),
               static_cast<std::size_t>(bytes_of(tensor.format)));
}

template <class T>
void watch(simt::ScopedShadow& shadow, const std::string& name, const std::vector<T>& values) {
  shadow.watch(name, simt::Global::input, values.data(), values.size() * sizeof(T), sizeof(T));
}

template <class P>
void watch_inputs(simt::ScopedShadow& shadow, const P& problem) {
  for_each_field(problem, [&]<class T>(const Field& field, const T& value) {
    if constexpr (requires { value.data(); }) watch(shadow, input_name(problem, field), value);
  });
}

/// The tensor that a kernel writes at `data`; the workspace too.
inline void watch_output(simt::ScopedShadow& shadow, const std::string& name, const void* data, const Tensor& tensor) {
  shadow.watch(name, simt::Global::output, data, tensor.storage.size(),
               static_cast<std::size_t>(bytes_of(tensor.format)));
}

}  // namespace flashproof
