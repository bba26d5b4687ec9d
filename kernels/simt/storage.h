// Elements of f32, f16 and bf16 tensors, read and written as float by kernels on both executors; e4m3fn and e5m2 are read.
//
//   float x = load<F>(base, index);   exact
//   store<F>(base, index, x);         rounds to nearest, ties to even; beyond the largest finite value to infinity
//   dispatch_format(format, [&]<Format F>() { launch(kernel<F>, ...); });      on the host
//
// NaN: store writes 0x7fffffff (f32) or 0x7fff (f16, bf16) whatever the NaN was, on both executors: that is what the
// GPU's conversions make and what encode() in formats.h makes, and it lets outputs be compared bit for bit. load gives
// some NaN; its payload may differ between the executors, so a float that may be NaN reaches memory through store only.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/simt/det_math/det_math.h"
#include "kernels/simt/fp8.h"
#include "kernels/simt/simt.h"
#include "reference/problem/formats.h"
#include "reference/system/error.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace flashproof {

template <Format F>  // a variable, because device code may not call a constexpr host function
inline constexpr bool kIsStorageFormat = F == Format::f32 || F == Format::f16 || F == Format::bf16;

/// Calls f.operator()<F>() for the constant F that equals `format`, and returns its result.
template <class Function>
decltype(auto) dispatch_format(Format format, Function&& f) {
  switch (format) {
    case Format::f32:
      return f.template operator()<Format::f32>();
    case Format::f16:
      return f.template operator()<Format::f16>();
    case Format::bf16:
      return f.template operator()<Format::bf16>();
    default:
      throw UsageError("format: kernels store f32, f16 or bf16, not " + std::string(info(format).name));
  }
}

}  // namespace flashproof

namespace flashproof::FP_EXECUTOR {
namespace storage {

inline constexpr std::uint16_t kNan16 = 0x7fff;

#if defined(__CUDACC__)

template <class Bits>
__device__ __forceinline__ Bits load_bits(const void* base, std::int64_t index) {
  return static_cast<const Bits*>(base)[index];
}
template <class Bits>
__device__ __forceinline__ void store_bits(void* base, std::int64_t index, Bits bits) {
  static_cast<Bits*>(base)[index] = bits;
}

__device__ __forceinline__ float from_f16(std::uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
__device__ __forceinline__ float from_bf16(std::uint16_t bits) { return __bfloat162float(__ushort_as_bfloat16(bits)); }

__device__ __forceinline__ std::uint16_t to_f16(float x) {
  return det::is_nan(x) ? kNan16 : __half_as_ushort(__float2half_rn(x));
}
__device__ __forceinline__ std::uint16_t to_bf16(float x) {
  return det::is_nan(x) ? kNan16 : __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

#else

/// A copy makes no demand on what type the buffer was created as. (nvcc would make it a copy byte by byte.)
template <class Bits>
Bits load_bits(const void* base, std::int64_t index) {
  Bits bits;
  std::memcpy(&bits, static_cast<const Bits*>(base) + index, sizeof(Bits));
  return bits;
}
template <class Bits>
void store_bits(void* base, std::int64_t index, Bits bits) {
  std::memcpy(static_cast<Bits*>(base) + index, &bits, sizeof(Bits));
}

// Conversions by bits: faster than decode and encode, which the tests compare them with for every float.

inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  std::uint32_t result = (magnitude << 13) + ((127u - 15u) << 23);  // moves the fields, changes the bias
  if (magnitude >= 0x7c00u) result |= 0x7f800000u;                  // infinity, NaN
  if (magnitude < 0x0400u) {  // subnormal: 2^-14 + magnitude · 2^-24 as bits, less 2^-14
    constexpr std::uint32_t kSmallestNormal = (127u - 14u) << 23;
    const float sum = __uint_as_float(kSmallestNormal + (magnitude << 13));
    result = __float_as_uint(sum - __uint_as_float(kSmallestNormal));
  }
  return __uint_as_float(sign | result);
}

inline float from_bf16(std::uint16_t bits) { return __uint_as_float(static_cast<std::uint32_t>(bits) << 16); }

inline std::uint16_t to_f16(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  const std::uint32_t sign = (bits & 0x80000000u) >> 16;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kNan16;
  std::uint32_t result;
  if (magnitude >= (127u + 16u) << 23) {  // 2^16 and more; 65520 … 2^16 carries into infinity below
    result = 0x7c00u;
  } else if (magnitude < (127u - 14u) << 23) {  // subnormal result: ½ has the spacing 2^-24, so the addition rounds
    result = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - __float_as_uint(0.5f);
  } else {
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    result = (magnitude - ((127u - 15u) << 23) + 0x0fffu + odd) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
}

inline std::uint16_t to_bf16(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return kNan16;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#endif

}  // namespace storage

template <Format F>
__device__ __forceinline__ float load(const void* base, std::int64_t index) {
  static_assert(kIsStorageFormat<F> || kIsFp8<F>, "kernels read f32, f16, bf16, e4m3fn or e5m2");
  if constexpr (kIsFp8<F>) {
    return from_fp8<F>(storage::load_bits<std::uint8_t>(base, index));
  } else if constexpr (F == Format::f32) {
    return storage::load_bits<float>(base, index);
  } else if constexpr (F == Format::f16) {
    return storage::from_f16(storage::load_bits<std::uint16_t>(base, index));
  } else {
    return storage::from_bf16(storage::load_bits<std::uint16_t>(base, index));
  }
}

template <Format F>
__device__ __forceinline__ void store(void* base, std::int64_t index, float value) {
  static_assert(kIsStorageFormat<F>, "kernels store f32, f16 or bf16");
  if constexpr (F == Format::f32) {
    storage::store_bits(base, index, det::choose(det::is_nan(value), det::kNan, value));
  } else if constexpr (F == Format::f16) {
    storage::store_bits(base, index, storage::to_f16(value));
  } else {
    storage::store_bits(base, index, storage::to_bf16(value));
  }
}

}  // namespace flashproof::FP_EXECUTOR
