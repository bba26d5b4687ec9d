// Bytes for a kernel's output with guard zones on both sides: a write beside the tensor is found instead of destroying
// the harness's own heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/run/run.h"
#include "reference/problem/tensor.h"

namespace flashproof {

class GuardedBuffer {
 public:
  /// Starts as a copy of the tensor's storage (its poison).
  explicit GuardedBuffer(const Tensor& tensor) : bytes_(tensor.storage.size() + 2 * kGuard, kPattern) {
    std::ranges::copy(tensor.storage, bytes_.begin() + kGuard);
  }

  /// What the kernel gets.
  std::byte* tensor() { return bytes_.data() + kGuard; }

  /// Copies the result out. Throws KernelFault if a guard byte changed.
  void finish(Tensor& tensor, const std::string& name) const {
    const auto intact = [](std::byte b) { return b == kPattern; };
    const auto end = bytes_.begin() + static_cast<std::ptrdiff_t>(kGuard + tensor.storage.size());
    if (!std::all_of(bytes_.begin(), bytes_.begin() + kGuard, intact)) {
      throw KernelFault("the kernel wrote before the first element of " + name);
    }
    if (!std::all_of(end, bytes_.end(), intact)) {
      throw KernelFault("the kernel wrote beyond the last element of " + name);
    }
    std::copy(bytes_.begin() + kGuard, end, tensor.storage.begin());
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 4096;  // a multiple of every alignment a kernel may want
  static constexpr std::byte kPattern{0xa5};
  std::vector<std::byte> bytes_;
};

}  // namespace flashproof
