// The small tensors of an attention problem as kernels read them: args.h has no strides for ALiBi's slopes, the sinks and
// the descale factors, while a problem may give them any, 0 included.
#pragma once

#include <utility>

#include "reference/problem/problems.h"

namespace flashproof {

inline bool is_dense(const Tensor& tensor) {
  return tensor.shape.empty() || tensor.stride == dense_stride(tensor.shape);
}

inline bool has_dense_features(const AttentionProblem& p) {
  return is_dense(p.alibi) && is_dense(p.sink) && is_dense(p.q_descale) && is_dense(p.k_descale) &&
         is_dense(p.v_descale);
}

/// The same numbers.
inline AttentionProblem with_dense_features(AttentionProblem p) {
  for (Tensor* tensor : {&p.alibi, &p.sink, &p.q_descale, &p.k_descale, &p.v_descale}) {
    if (is_dense(*tensor)) {
      continue;
    }
    const std::vector<std::byte> bytes = dense_bytes(*tensor);
    *tensor = tensor_from_dense(tensor->format, tensor->shape, dense_stride(tensor->shape),
                                static_cast<std::int64_t>(bytes.size()), bytes);
  }
  return p;
}

inline Problem with_dense_features(Problem problem) {
  if (auto* backward = std::get_if<BackwardProblem>(&problem)) {
    backward->forward = with_dense_features(std::move(backward->forward));
  } else if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    *attention = with_dense_features(std::move(*attention));
  }
  return problem;
}

}  // namespace flashproof
