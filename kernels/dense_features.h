// The small tensors of an attention problem as kernels read them: args.h has no strides for ALiBi's slopes, the sinks and
// the descale factors, while a problem may give them any, 0 included.
#pragma once

#include <utility>

#include "reference/problem/fields.h"

namespace flashproof {

inline bool is_dense(const Tensor& tensor) {
  return tensor.shape.empty() || tensor.stride == dense_stride(tensor.shape);
}

/// visit(Tensor) for those that args.h has no strides for: the optional ones of fewer than 4 axes.
template <class P, class Visit>
void for_each_small_tensor(P& p, Visit&& visit) {
  for_each_tensor(p, [&](const Field& field, auto& tensor) {
    if (field.presence == Presence::optional && field.axes < 4) {
      visit(tensor);
    }
  });
}

inline bool has_dense_features(const AttentionProblem& p) {
  bool dense = true;
  for_each_small_tensor(p, [&](const Tensor& tensor) { dense = dense && is_dense(tensor); });
  return dense;
}

/// The same numbers.
inline AttentionProblem with_dense_features(AttentionProblem p) {
  for_each_small_tensor(p, [](Tensor& tensor) {
    if (is_dense(tensor)) {
      return;
    }
    const std::vector<std::byte> bytes = dense_bytes(tensor);
    tensor = tensor_from_dense(tensor.format, tensor.shape, dense_stride(tensor.shape),
                               static_cast<std::int64_t>(bytes.size()), bytes);
  });
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
