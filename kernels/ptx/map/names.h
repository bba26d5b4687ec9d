// What a map can name of a call: tensors as the C ABI and its findings call them, dimensions as `limits` does, options.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/plugin.h"
#include "kernels/ptx/map/number.h"

namespace flashproof::ptx {

struct TensorName {
  std::string_view name;
  int axes;
  bool is_output;
  /// Null where the problem has none.
  const flashproof_tensor* (*of)(const flashproof_call& call);
};

struct ValueName {
  std::string_view name;
  Number (*of)(const flashproof_call& call);
};

/// Of a problem of plugin.h (FLASHPROOF_SOFTMAX ...). dv of a gradient is a tensor and a dimension.
std::span<const TensorName> tensor_names(int problem);
std::span<const ValueName> value_names(int problem);
std::vector<std::string_view> all_names(int problem);

/// 0 of a tensor that is not there.
std::int64_t size_of(const flashproof_tensor* tensor, int axis);
std::int64_t stride_of(const flashproof_tensor* tensor, int axis);

}  // namespace flashproof::ptx
