// CUDA's memory and errors as run_cuda.cu needs them. For files that nvcc compiles.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "kernels/run/run.h"
#include "reference/system/error.h"

namespace flashproof::device {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw InfrastructureError(std::string("cuda: ") + what + ": " + cudaGetErrorString(status));
  }
}

/// The errors by which the device reports what a kernel did. All of them are sticky. (CUDA Runtime API, cudaError.)
inline bool is_kernel_fault(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
      return true;
    default:
      return false;
  }
}

/// Waits for the kernel: what it did wrong appears here, or in any later call.
inline void finish(const std::string& kernel) {
  const cudaError_t status = cudaDeviceSynchronize();
  if (is_kernel_fault(status)) {
    throw KernelFault("cuda: " + kernel + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
  }
  check(status, kernel.c_str());
}

/// A device copy of a host range; freed with it.
class DeviceBuffer {
 public:
  DeviceBuffer(const void* host, std::size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, bytes > 0 ? bytes : 1), "cudaMalloc");
    if (bytes > 0) {
      const cudaError_t status = cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice);
      if (status != cudaSuccess) {
        cudaFree(data_);
        check(status, "copy to the device");
      }
    }
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* data() const { return data_; }
  void fetch(void* host) const {
    if (bytes_ > 0) {
      check(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost), "copy from the device");
    }
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace flashproof::device
