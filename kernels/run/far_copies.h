// Inputs whose elements lie so far apart along one axis that element offsets exceed 2^32, as in a cache of many gigabytes.
// The memory is sparse: address space is reserved, and only the pages that hold elements exist.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "reference/problem/problems.h"
#include "reference/system/error.h"

namespace flashproof {

class FarCopies {
 public:
  FarCopies() = default;
  FarCopies(const FarCopies&) = delete;
  FarCopies& operator=(const FarCopies&) = delete;
  ~FarCopies() {
    for (const Region& region : regions_) munmap(region.start, region.bytes);
  }

  /// x, the states of a merge, or q, k, v and the bias get new strides: huge ones along `axis`, where they have two elements
  /// or more. Their storage is not read any more. Throws UsageError where the address space is refused.
  void spread(SoftmaxProblem& p, int axis) { spread(p.x, axis); }
  void spread(MergeProblem& p, int axis) {
    spread(p.o, axis);
    if (axis > 1) return;
    spread(p.lse, axis);
    if (p.has_l()) spread(p.l, axis);
  }
  void spread(AttentionProblem& p, int axis) {
    for (Tensor* tensor : {&p.q, &p.k, &p.v}) spread(*tensor, axis);
    if (p.has_bias()) spread(p.bias, axis);
  }
  /// What the forward kernel returned and dO, too.
  void spread(BackwardProblem& p, int axis) {
    spread(p.forward, axis);
    for (Tensor* tensor : {&p.d_out, &p.o, &p.lse}) {
      if (static_cast<std::size_t>(axis) < tensor->shape.size()) spread(*tensor, axis);
    }
  }

  /// Where the tensor with this storage went; null: it stayed.
  const void* find(const void* storage) const {
    const auto found = std::ranges::find(regions_, storage, &Region::storage);
    return found == regions_.end() ? nullptr : found->first;
  }

 private:
  struct Region {
    const void* storage;
    void* start;
    std::size_t bytes;
    std::byte* first;  // element 0
  };

  // The last element along the axis lies at 2^32 + 2^31 elements or little more. Taken in 32 bits that is 2^31 without a sign
  // and -2^31 with one: both fall into the region, on no element but zeros, so that either shows even where a problem has
  // two elements along the axis; with more of them some lie between 2^31 and 2^32 too.
  static constexpr std::int64_t kFar = std::int64_t{3} << 31;
  static constexpr std::int64_t kBefore = std::int64_t{1} << 31;
  static constexpr std::int64_t kAlign = 16;  // elements: loads of 16 bytes stay possible

  void spread(Tensor& tensor, int axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (tensor.elements() == 0 || tensor.shape[a] < 2) return;
    std::int64_t inner = 1;
    std::vector<std::int64_t> stride(tensor.shape.size());
    for (std::size_t n = stride.size(); n-- > 0;) {
      if (n == a) continue;
      stride[n] = inner;
      inner *= tensor.shape[n];
    }
    const std::int64_t steps = tensor.shape[a] - 1;
    stride[a] = ((std::max(inner, (kFar + steps - 1) / steps)) + kAlign - 1) / kAlign * kAlign;
    const std::int64_t behind = steps * stride[a] + inner;
    const std::int64_t before = kBefore + kAlign;
    const auto bytes = static_cast<std::size_t>((before + behind) * bytes_of(tensor.format));
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
      throw UsageError("offsets beyond 2^32: " + std::to_string(bytes >> 30) + " GiB of address space were refused");
    }
    auto* first = static_cast<std::byte*>(start) + before * bytes_of(tensor.format);
    regions_.push_back({tensor.data(), start, bytes, first});
    copy(tensor, stride, first);
    tensor.stride = std::move(stride);
  }

  static void copy(const Tensor& tensor, const std::vector<std::int64_t>& stride, std::byte* first) {
    const std::int64_t size = bytes_of(tensor.format);
    std::vector<std::int64_t> index(stride.size(), 0);
    for (std::int64_t n = tensor.elements(); n > 0; --n) {
      std::int64_t from = 0, to = 0;
      for (std::size_t i = 0; i < index.size(); ++i) {
        from += index[i] * tensor.stride[i];
        to += index[i] * stride[i];
      }
      std::memcpy(first + to * size, tensor.storage.data() + from * size, static_cast<std::size_t>(size));
      for (std::size_t i = index.size(); i-- > 0;) {
        if (++index[i] < tensor.shape[i]) break;
        index[i] = 0;
      }
    }
  }

  std::vector<Region> regions_;
};

}  // namespace flashproof
