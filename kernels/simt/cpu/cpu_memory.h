// Shared memory and 16-byte access on the CPU executor.
//
// Every shared array is a heap allocation of exactly its size, so AddressSanitizer sees an overflow; it is filled with
// 0xff (NaN in every format) when the first thread of a block reaches the declaration, so a read before the first write
// is NaN, never the last block's data. The fill happens in another translation unit: no compiler can fold it away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/simt/cpu/cpu_types.h"

#define FP_SHARED(type, name, count)                                     \
  static constinit ::flashproof::simt::SharedSlot fp_slot_##name{#name}; \
  [[maybe_unused]] type(&name)[count] =                                  \
      ::flashproof::simt::shared_array<type, (count)>(fp_slot_##name, __builtin_FILE(), __builtin_LINE())
#define FP_DYNAMIC_SHARED(type, name) \
  [[maybe_unused]] type* const name = ::flashproof::simt::dynamic_shared_memory<type>()

namespace flashproof::simt {

/// One per declaration (and per template instance): where the array of the running block is.
struct SharedSlot {
  const char* name;
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::uint64_t block = ~std::uint64_t{0};  // the block that it was poisoned for
};

extern std::uint64_t current_block;  // counts the blocks of the whole process; 0 outside a kernel
extern void* current_dynamic_shared;

// In shared_memory.cc.
void attach_shared(SharedSlot& slot, std::size_t bytes, std::size_t alignment, const char* file, int line);
[[noreturn]] void fail_misaligned(const void* p, const char* what, const char* file, int line);

template <class T, std::size_t kCount>
inline T (&shared_array(SharedSlot& slot, const char* file, int line))[kCount] {
  static_assert(std::is_trivially_default_constructible_v<T>, "CUDA allows no constructors in shared memory");
  if (slot.block != current_block) attach_shared(slot, sizeof(T) * kCount, alignof(T), file, line);
  return *static_cast<T(*)[kCount]>(slot.memory);
}

template <class T>
inline T* dynamic_shared_memory() {
  static_assert(std::is_trivially_default_constructible_v<T>, "CUDA allows no constructors in shared memory");
  static_assert(alignof(T) <= 16, "dynamic shared memory is aligned to 16 bytes");
  return static_cast<T*>(current_dynamic_shared);
}

inline void check_aligned_16(const void* p, const char* what, const char* file, int line) {
  if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) fail_misaligned(p, what, file, line);
}

}  // namespace flashproof::simt

namespace flashproof::FP_EXECUTOR {

#define FP_CALL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline float4 load_f32x4(const float* p, FP_CALL_SITE) {
  simt::check_aligned_16(p, "load_f32x4", file, line);
  return {p[0], p[1], p[2], p[3]};
}
inline void store_f32x4(float* p, float4 v, FP_CALL_SITE) {
  simt::check_aligned_16(p, "store_f32x4", file, line);
  __builtin_memcpy(p, &v, 16);
}
/// 16 raw bytes, for packed 8- and 16-bit storage formats.
inline uint4 load_u32x4(const void* p, FP_CALL_SITE) {
  simt::check_aligned_16(p, "load_u32x4", file, line);
  uint4 v;
  __builtin_memcpy(&v, p, 16);
  return v;
}
inline void store_u32x4(void* p, uint4 v, FP_CALL_SITE) {
  simt::check_aligned_16(p, "store_u32x4", file, line);
  __builtin_memcpy(p, &v, 16);
}

#undef FP_CALL_SITE

}  // namespace flashproof::FP_EXECUTOR
