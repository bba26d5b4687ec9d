#include "kernels/backward_cuda.h"

#include <memory>
#include <utility>
#include <vector>

#include "kernels/device_buffer.h"
#include "kernels/make_args.h"

namespace flashproof {

void run_on_cuda(const BackwardKernel& kernel, const BackwardProblem& problem, const Tensor& workspace,
                 Gradients& gradients) {
  using device::DeviceBuffer;
  const std::string id(kernel.id);
  if (!kernel.has_cuda) {
    throw InfrastructureError("kernel " + id + " was not built for CUDA");
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
  BackwardArgs args = make_args(problem, gradients, place, place_output);
  args.workspace = {space.data(), static_cast<std::int64_t>(workspace.storage.size())};
  try {
    kernel.cuda_launch(args, Stream{});
  } catch (const InfrastructureError&) {
    device::finish(id);  // of several launches, a later one reports the fault of an earlier one
    throw;
  }
  device::finish(id);
  for (const auto& [tensor, buffer] : outputs) {
    buffer->fetch(tensor->data());
  }
}

}  // namespace flashproof
