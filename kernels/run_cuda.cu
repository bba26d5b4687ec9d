#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "kernels/make_args.h"
#include "kernels/run_cuda.h"
#include "reference/problem/error.h"

namespace flashproof {

namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw InfrastructureError(std::string("cuda: ") + what + ": " + cudaGetErrorString(status));
  }
}

/// The errors by which the device reports what a kernel did. All of them are sticky. (CUDA Runtime API, cudaError.)
bool is_kernel_fault(cudaError_t status) {
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
void finish(const std::string& kernel) {
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

}  // namespace

int cuda_devices(std::string* why) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();  // the failed query must not be found by the next launch
    if (why != nullptr) {
      *why = status != cudaSuccess ? cudaGetErrorString(status) : "no CUDA device";
    }
    return 0;
  }
  return count;
}

void run_on_cuda(const Kernel& kernel, const Problem& problem, Output& output) {
  if (!kernel.has_cuda) {
    throw InfrastructureError("kernel " + std::string(kernel.id) + " was not built for CUDA");
  }
  std::vector<std::unique_ptr<DeviceBuffer>> inputs;
  std::vector<std::pair<Tensor*, std::unique_ptr<DeviceBuffer>>> outputs;
  const auto place = [&](const void* host, std::size_t bytes) -> const void* {
    return inputs.emplace_back(std::make_unique<DeviceBuffer>(host, bytes))->data();
  };
  const auto place_output = [&](Tensor& tensor) -> void* {
    outputs.emplace_back(&tensor, std::make_unique<DeviceBuffer>(tensor.data(), tensor.storage.size()));
    return outputs.back().second->data();
  };
  const Tensor space = workspace(kernel, problem);
  const DeviceBuffer device_space(space.data(), space.storage.size());
  std::visit(
      [&](const auto& p) {
        auto args = make_args(p, output, place, place_output);
        args.workspace = {device_space.data(), static_cast<std::int64_t>(space.storage.size())};
        try {
          std::get<void (*)(const decltype(args)&, Stream)>(kernel.cuda_launch)(args, Stream{});
        } catch (const InfrastructureError&) {
          finish(std::string(kernel.id));  // of several launches, a later one reports the fault of an earlier one
          throw;
        }
      },
      problem);
  finish(std::string(kernel.id));
  for (const auto& [tensor, buffer] : outputs) {
    buffer->fetch(tensor->data());
  }
}

}  // namespace flashproof
