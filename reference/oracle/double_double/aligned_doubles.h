// Arrays that vector loads of 64 bytes do not cross cache lines in.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace flashproof {

template <class T>
struct CacheLineAllocator {
  using value_type = T;  // NOLINT(readability-identifier-naming): the name of the standard
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <class U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const CacheLineAllocator&) const = default;
};

using AlignedDoubles = std::vector<double, CacheLineAllocator<double>>;

}  // namespace flashproof
