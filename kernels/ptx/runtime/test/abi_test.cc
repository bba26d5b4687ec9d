// The structures of abi.h and the numbers of status.h against CUDA's headers. Built where there are headers of CUDA 13.
#include "kernels/ptx/runtime/abi.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "kernels/ptx/runtime/status.h"

namespace flashproof::cudart {
namespace {

#define SAME_PLACE(ours, theirs, field)                                                                           \
  static_assert(                                                                                                  \
      offsetof(abi::ours, field) == offsetof(theirs, field) && sizeof(abi::ours::field) == sizeof(theirs::field), \
      #field)

static_assert(sizeof(abi::DeviceProp) == sizeof(cudaDeviceProp));
SAME_PLACE(DeviceProp, cudaDeviceProp, totalGlobalMem);
SAME_PLACE(DeviceProp, cudaDeviceProp, maxGridSize);
SAME_PLACE(DeviceProp, cudaDeviceProp, multiProcessorCount);
SAME_PLACE(DeviceProp, cudaDeviceProp, concurrentKernels);
SAME_PLACE(DeviceProp, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME_PLACE(DeviceProp, cudaDeviceProp, sharedMemPerBlockOptin);
SAME_PLACE(DeviceProp, cudaDeviceProp, reservedSharedMemPerBlock);
SAME_PLACE(DeviceProp, cudaDeviceProp, hostNumaId);
static_assert(sizeof(abi::FuncAttributes) == sizeof(cudaFuncAttributes));
SAME_PLACE(FuncAttributes, cudaFuncAttributes, localSizeBytes);
SAME_PLACE(FuncAttributes, cudaFuncAttributes, numRegs);
SAME_PLACE(FuncAttributes, cudaFuncAttributes, maxDynamicSharedSizeBytes);
static_assert(sizeof(abi::PointerAttributes) == sizeof(cudaPointerAttributes));
SAME_PLACE(PointerAttributes, cudaPointerAttributes, device);
SAME_PLACE(PointerAttributes, cudaPointerAttributes, hostPointer);
static_assert(sizeof(abi::LaunchAttribute) == sizeof(cudaLaunchAttribute));
SAME_PLACE(LaunchAttribute, cudaLaunchAttribute, val);
static_assert(sizeof(abi::LaunchConfig) == sizeof(cudaLaunchConfig_t));
SAME_PLACE(LaunchConfig, cudaLaunchConfig_t, dynamicSmemBytes);
SAME_PLACE(LaunchConfig, cudaLaunchConfig_t, numAttrs);
static_assert(sizeof(abi::Dim) == sizeof(dim3));

#undef SAME_PLACE

TEST(CudartAbi, has_the_numbers_of_cuda) {
  for (const auto& [ours, theirs, name] :
       {std::tuple{invalid_value, cudaErrorInvalidValue, "cudaErrorInvalidValue"},
        {memory_allocation, cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
        {invalid_configuration, cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration"},
        {invalid_symbol, cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol"},
        {invalid_direction, cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection"},
        {invalid_device_function, cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction"},
        {no_kernel_image, cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice"},
        {jit_compiler_not_found, cudaErrorJitCompilerNotFound, "cudaErrorJitCompilerNotFound"},
        {invalid_handle, cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle"},
        {illegal_address, cudaErrorIllegalAddress, "cudaErrorIllegalAddress"},
        {assertion, cudaErrorAssert, "cudaErrorAssert"},
        {misaligned_address, cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress"},
        {launch_failure, cudaErrorLaunchFailure, "cudaErrorLaunchFailure"},
        {not_supported, cudaErrorNotSupported, "cudaErrorNotSupported"}}) {
    EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
    EXPECT_STREQ(name_of(ours), name);
  }
}

}  // namespace
}  // namespace flashproof::cudart
