// The functions that g++ and clang++ -fsanitize=thread call at every load, store, atomic and function entry. The compiler
// instruments the kernels' second objects (cpu_race); instead of its runtime these definitions are linked, and hand the
// accesses to the shadow. Without a shadow, and for the thread's own stack, they return at once.
//
// One of them may also run for host code: of an inline function that both instrumented and plain objects define, the
// linker keeps either.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/shadow/shadow_state.h"

namespace flashproof::simt {
namespace {

[[gnu::always_inline]] inline void touch(const volatile void* p, std::size_t bytes, AccessKind kind, const void* pc) {
  Shadow* const shadow = active_shadow;
  const Thread* const thread = block.current;
  if (shadow == nullptr || thread == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  // The thread's own stack: from this frame, below which nothing is in use, to the top.
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (address - frame < reinterpret_cast<std::uintptr_t>(thread->fiber.stack_top) - frame) return;
  if (shadow->access(address, bytes, kind, pc)) preempt_at_access();
}

}  // namespace
}  // namespace flashproof::simt

using flashproof::simt::AccessKind;
using flashproof::simt::touch;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the compiler's names
#define FP_PLAIN(prefix, bytes)                                                                                  \
  void __tsan_##prefix##read##bytes(void* p) { touch(p, bytes, AccessKind::read, __builtin_return_address(0)); } \
  void __tsan_##prefix##write##bytes(void* p) { touch(p, bytes, AccessKind::write, __builtin_return_address(0)); }
#define FP_RMW(bits, type, name, builtin)                                    \
  type __tsan_atomic##bits##_##name(volatile type* p, type v, int) {         \
    touch(p, sizeof(type), AccessKind::atomic, __builtin_return_address(0)); \
    return builtin(p, v, __ATOMIC_SEQ_CST);                                  \
  }
#define FP_ATOMICS(bits, type)                                                                            \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {                                          \
    touch(p, sizeof(type), AccessKind::atomic, __builtin_return_address(0));                              \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                       \
  void __tsan_atomic##bits##_store(volatile type* p, type v, int) {                                       \
    touch(p, sizeof(type), AccessKind::atomic, __builtin_return_address(0));                              \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                             \
  }                                                                                                       \
  FP_RMW(bits, type, exchange, __atomic_exchange_n)                                                       \
  FP_RMW(bits, type, fetch_add, __atomic_fetch_add)                                                       \
  FP_RMW(bits, type, fetch_sub, __atomic_fetch_sub)                                                       \
  FP_RMW(bits, type, fetch_and, __atomic_fetch_and)                                                       \
  FP_RMW(bits, type, fetch_or, __atomic_fetch_or)                                                         \
  FP_RMW(bits, type, fetch_xor, __atomic_fetch_xor)                                                       \
  FP_RMW(bits, type, fetch_nand, __atomic_fetch_nand)                                                     \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* expected, type v, int, int) { \
    touch(p, sizeof(type), AccessKind::atomic, __builtin_return_address(0));                              \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* expected, type v, int, int) {   \
    touch(p, sizeof(type), AccessKind::atomic, __builtin_return_address(0));                              \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }                                                                                                       \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type expected, type v, int, int) {    \
    touch(p, sizeof(type), AccessKind::atomic, __builtin_return_address(0));                              \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
    return expected;                                                                                      \
  }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
FP_PLAIN(, 1)
FP_PLAIN(, 2)
FP_PLAIN(, 4)
FP_PLAIN(, 8)
FP_PLAIN(, 16)
FP_PLAIN(unaligned_, 2)
FP_PLAIN(unaligned_, 4)
FP_PLAIN(unaligned_, 8)
FP_PLAIN(unaligned_, 16)
void __tsan_read_range(void* p, std::size_t bytes) { touch(p, bytes, AccessKind::read, __builtin_return_address(0)); }
void __tsan_write_range(void* p, std::size_t bytes) { touch(p, bytes, AccessKind::write, __builtin_return_address(0)); }
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {  // clang's
  touch(from, bytes, AccessKind::read, __builtin_return_address(0));
  touch(to, bytes, AccessKind::write, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  touch(from, bytes, AccessKind::read, __builtin_return_address(0));
  touch(to, bytes, AccessKind::write, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  touch(to, bytes, AccessKind::write, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
FP_ATOMICS(8, std::uint8_t)
FP_ATOMICS(16, std::uint16_t)
FP_ATOMICS(32, std::uint32_t)
FP_ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) { std::atomic_thread_fence(std::memory_order_seq_cst); }
void __tsan_atomic_signal_fence(int) { std::atomic_signal_fence(std::memory_order_seq_cst); }
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
