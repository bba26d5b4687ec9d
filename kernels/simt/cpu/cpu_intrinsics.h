// CUDA's arithmetic intrinsics and atomics on the CPU. One rounding each, never fused with a neighbour: fma only where
// it is written, through the builtin (contraction is off in the whole build).
#pragma once

#include <bit>
#include <type_traits>

#include "kernels/simt/cpu/cpu_types.h"
#include "kernels/simt/shadow/shadow.h"

__forceinline__ float __fmul_rn(float a, float b) { return a * b; }
__forceinline__ float __fadd_rn(float a, float b) { return a + b; }
__forceinline__ float __fsub_rn(float a, float b) { return a - b; }
__forceinline__ float __fdiv_rn(float a, float b) { return a / b; }
__forceinline__ float __frcp_rn(float a) { return 1.0f / a; }
__forceinline__ float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
__forceinline__ float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

__forceinline__ int __float_as_int(float x) { return std::bit_cast<int>(x); }
__forceinline__ float __int_as_float(int x) { return std::bit_cast<float>(x); }
__forceinline__ unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
__forceinline__ float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }

__forceinline__ int __popc(unsigned x) { return std::popcount(x); }
__forceinline__ int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
__forceinline__ int __ffs(int x) { return __builtin_ffs(x); }

template <class T>
__forceinline__ T __ldg(const T* p) {
  return *p;
}

// CUDA has min and max at global scope. Integers only here: for floats fmaxf and fminf disagree between compilers about
// the sign of zero, so kernels take theirs from the deterministic math.
template <class T>
  requires std::is_integral_v<T>
__forceinline__ constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
  requires std::is_integral_v<T>
__forceinline__ constexpr T max(T a, T b) {
  return a < b ? b : a;
}

namespace flashproof::simt {
template <class T>
inline constexpr bool kIsAtomicInteger =
    std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;
}  // namespace flashproof::simt

// Plain read-modify-write: the executor runs on one operating-system thread and switches only at collectives. The order
// in which threads reach an atomic is the schedule's. Not instrumented, so that the shadow sees an atomic and no
// preemption splits it; not inlined, because an instrumented caller would instrument it, and so that the return address
// is the kernel's.
#ifdef __clang__
#define FP_ATOMIC [[gnu::noinline, clang::no_sanitize("thread")]]
#else
#define FP_ATOMIC [[gnu::noinline, gnu::no_sanitize("thread")]]
#endif

template <class T>
  requires(flashproof::simt::kIsAtomicInteger<T> || std::is_same_v<T, float>)
FP_ATOMIC T atomicAdd(T* address, std::type_identity_t<T> value) {
  flashproof::simt::shadow_atomic(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  *address = static_cast<T>(old + value);
  return old;
}

template <class T>
  requires flashproof::simt::kIsAtomicInteger<T>
FP_ATOMIC T atomicMax(T* address, std::type_identity_t<T> value) {
  flashproof::simt::shadow_atomic(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  *address = old < value ? value : old;
  return old;
}

template <class T>
  requires flashproof::simt::kIsAtomicInteger<T>
FP_ATOMIC T atomicMin(T* address, std::type_identity_t<T> value) {
  flashproof::simt::shadow_atomic(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  *address = value < old ? value : old;
  return old;
}

template <class T>
  requires(flashproof::simt::kIsAtomicInteger<T> || std::is_same_v<T, float>)
FP_ATOMIC T atomicExch(T* address, std::type_identity_t<T> value) {
  flashproof::simt::shadow_atomic(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  *address = value;
  return old;
}

template <class T>
  requires flashproof::simt::kIsAtomicInteger<T>
FP_ATOMIC T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  flashproof::simt::shadow_atomic(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  if (old == expected) *address = value;
  return old;
}

#undef FP_ATOMIC
