// An allocator whose memory is zero when it arrives: calloc, and for large blocks fresh pages from the kernel, huge ones if
// it has them. Filling a million balls by hand, and faulting them in 4 KiB at a time, takes longer than computing them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

namespace flashproof {

/// Constructing an element without arguments leaves its bytes: only for containers that get their size once.
template <class T>
class Zeroed {
 public:
  using value_type = T;  // NOLINT(readability-identifier-naming): the name of the standard

  Zeroed() = default;
  template <class U>
  explicit(false) Zeroed(const Zeroed<U>&) {}

  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = n * sizeof(T);
    if (bytes < kMapped) {
      if (void* const memory = std::calloc(n, sizeof(T)); memory != nullptr) return static_cast<T*>(memory);
      throw std::bad_alloc();
    }
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: it may fail
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) {
    if (n * sizeof(T) < kMapped) {
      std::free(memory);
    } else {
      munmap(memory, n * sizeof(T));
    }
  }
  template <class U>
  void construct(U*) {}
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
  bool operator==(const Zeroed&) const = default;

 private:
  static constexpr std::size_t kMapped = std::size_t{4} << 20;  // two huge pages
};

}  // namespace flashproof
