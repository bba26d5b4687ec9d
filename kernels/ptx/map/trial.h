// A call of no kernel, by which the expressions of a map are tried before anything runs: of every axis a size within the limits.
#pragma once

#include <array>
#include <map>
#include <string>

#include "kernels/plugin.h"

namespace flashproof::ptx {

class TrialCall {
 public:
  /// Sizes by the names that `limits` has; others are 33.
  TrialCall(int problem, const std::map<std::string, std::int64_t>& sizes);
  TrialCall(const TrialCall&) = delete;
  TrialCall& operator=(const TrialCall&) = delete;
  const flashproof_call& call() const { return call_; }

 private:
  struct Shaped {
    flashproof_tensor tensor;
    std::array<std::int64_t, 4> shape, strides;
  };
  const flashproof_tensor* add(std::initializer_list<std::int64_t> shape);

  std::array<Shaped, 24> tensors_{};
  std::size_t used_ = 0;
  flashproof_softmax softmax_{};
  flashproof_merge merge_{};
  flashproof_attention attention_{};
  flashproof_attention_backward backward_{};
  flashproof_call call_{};
};

}  // namespace flashproof::ptx
