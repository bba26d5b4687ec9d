// The GPU side of simt.h: CUDA itself has nearly everything; what is left are the names that differ.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/simt/stream.h"
#include "reference/system/error.h"

#define FP_NOINLINE __noinline__
#define FP_GRID_CONSTANT __grid_constant__
#define FP_SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define FP_DYNAMIC_SHARED(type, name) type* const name = ::flashproof::simt::dynamic_shared_memory<type>()

namespace flashproof::simt {

/// One declaration of the array for the whole program: two kernels in one file may then view it as different types.
template <class T>
__device__ __forceinline__ T* dynamic_shared_memory() {
  static_assert(alignof(T) <= 16, "dynamic shared memory is aligned to 16 bytes");
  extern __shared__ __align__(16) unsigned char flashproof_dynamic_shared_bytes[];
  return reinterpret_cast<T*>(flashproof_dynamic_shared_bytes);
}

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw InfrastructureError(std::string(what) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
  }
}

}  // namespace flashproof::simt

namespace flashproof::FP_EXECUTOR {

__device__ __forceinline__ float4 load_f32x4(const float* p) { return *reinterpret_cast<const float4*>(p); }
__device__ __forceinline__ void store_f32x4(float* p, float4 v) { *reinterpret_cast<float4*>(p) = v; }
/// 16 raw bytes, for packed 8- and 16-bit storage formats.
__device__ __forceinline__ uint4 load_u32x4(const void* p) { return *reinterpret_cast<const uint4*>(p); }
__device__ __forceinline__ void store_u32x4(void* p, uint4 v) { *reinterpret_cast<uint4*>(p) = v; }

/// Starts the kernel. An empty grid starts nothing. Throws InfrastructureError if the launch is refused; what goes
/// wrong while the kernel runs is reported by the next synchronising call.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, Stream stream,
            Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "launch: wrong number of kernel arguments");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  constexpr std::size_t kWithoutOptIn = 48 * 1024;
  if (dynamic_shared_bytes > kWithoutOptIn) {
    simt::check_cuda(
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(dynamic_shared_bytes)),
        "launch: opt in to dynamic shared memory");
  }
  kernel<<<grid, block, dynamic_shared_bytes, static_cast<cudaStream_t>(stream.handle)>>>(
      static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  simt::check_cuda(cudaGetLastError(), "launch");
}

}  // namespace flashproof::FP_EXECUTOR
