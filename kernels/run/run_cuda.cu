#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "kernels/run/device_buffer.h"
#include "kernels/run/make_args.h"
#include "kernels/run/run_cuda.h"
#include "reference/system/error.h"

namespace flashproof {

using device::check;
using device::DeviceBuffer;
using device::finish;

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

void run_on_cuda(const Kernel& kernel, const Problem& problem, const Tensor& workspace, Output& output) {
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
  const DeviceBuffer space(workspace.data(), workspace.storage.size());
  std::visit(
      [&](const auto& p) {
        auto args = make_args(p, output, place, place_output);
        args.workspace = {space.data(), static_cast<std::int64_t>(workspace.storage.size())};
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
