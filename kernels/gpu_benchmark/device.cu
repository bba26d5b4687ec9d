#include "kernels/gpu_benchmark/device.h"

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/run/make_args.h"
#include "kernels/simt/storage.h"
#include "reference/system/error.h"

namespace flashproof::gpu_benchmark {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw InfrastructureError(std::string("cuda: ") + what + ": " + cudaGetErrorString(status));
}

/// The finaliser of MurmurHash3: enough to spread counters over 32 bits.
__device__ std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}

template <Format F>
__global__ void fill_numbers(void* out, std::int64_t count, std::uint32_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    float sum = 0.0F;
    for (std::uint32_t draw = 0; draw < 4; ++draw) {
      sum += static_cast<float>(mixed(static_cast<std::uint32_t>(i) * 4U + draw + mixed(seed))) * 0x1p-32F;
    }
    cuda::store<F>(out, i, (sum - 2.0F) * 1.7320508F);  // variance of the sum: 4/12
  }
}

/// What make_args asks for: tensors without storage take the device's own memory, everything else is copied there.
class Place {
 public:
  Place(std::vector<std::unique_ptr<Buffer>>& buffers, std::vector<void*> tensors)
      : buffers_(&buffers), tensors_(std::move(tensors)) {}

  const void* operator()(const void* host, std::size_t bytes) {
    if (bytes == 0) return tensors_.at(next_++);
    const Buffer& buffer = *buffers_->emplace_back(std::make_unique<Buffer>(static_cast<std::int64_t>(bytes)));
    check(cudaMemcpy(buffer.data(), host, bytes, cudaMemcpyHostToDevice), "copy to the device");
    return buffer.data();
  }

 private:
  std::vector<std::unique_ptr<Buffer>>* buffers_;
  std::vector<void*> tensors_;
  std::size_t next_ = 0;
};

std::vector<const Tensor*> inputs(const SoftmaxProblem& p) { return {&p.x}; }
std::vector<const Tensor*> inputs(const MergeProblem& p) {
  std::vector<const Tensor*> all = {&p.o, &p.lse};
  if (p.has_l()) all.push_back(&p.l);
  return all;
}
std::vector<const Tensor*> inputs(const AttentionProblem& p) { return {&p.q, &p.k, &p.v}; }

std::int64_t bytes_of(const Tensor& tensor) { return storage_bytes(tensor.format, tensor.shape, tensor.stride); }

}  // namespace

Buffer::Buffer(std::int64_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, static_cast<std::size_t>(bytes > 0 ? bytes : 1)), "cudaMalloc");
}
Buffer::~Buffer() { cudaFree(data_); }

void fill(Buffer& buffer, Format format, std::uint64_t seed) {
  const std::int64_t count = buffer.bytes() / flashproof::bytes_of(format);
  dispatch_format(format, [&]<Format F>() {
    fill_numbers<F><<<2048, 256>>>(buffer.data(), count, static_cast<std::uint32_t>(seed));
  });
  check(cudaGetLastError(), "fill");
  check(cudaDeviceSynchronize(), "fill");
}

Tensor shape_only(Format format, std::vector<std::int64_t> shape) {
  Tensor tensor;
  tensor.format = format;
  tensor.stride = dense_stride(shape);
  tensor.shape = std::move(shape);
  return tensor;
}

Prepared::Prepared(const Kernel& kernel, const Launch& launch, Problem problem) {
  if (const std::string why = kernel.unsupported(problem); !why.empty()) {
    throw UsageError("kernel " + std::string(kernel.id) + ": " + why);
  }
  const OutputShape shape = output_shape(problem);
  Output out{shape_only(format_of(problem), {shape.rows, shape.width}), shape_only(Format::f32, {shape.rows})};
  const Buffer& workspace =
      *buffers_.emplace_back(std::make_unique<Buffer>(kernel.workspace == nullptr ? 0 : kernel.workspace(problem)));
  visit_forward(
      [&](const auto& p) {
        std::vector<void*> tensors;
        for (const Tensor* tensor : inputs(p)) {
          Buffer& buffer = *buffers_.emplace_back(std::make_unique<Buffer>(bytes_of(*tensor)));
          fill(buffer, tensor->format, tensors.size() + 1);
          tensors.push_back(buffer.data());
        }
        const auto place_output = [&](const Tensor& tensor) -> void* {
          return buffers_.emplace_back(std::make_unique<Buffer>(bytes_of(tensor)))->data();
        };
        auto args = make_args(p, out, Place(buffers_, tensors), place_output);
        args.workspace = {workspace.data(), workspace.bytes()};
        const auto start = std::get<void (*)(const decltype(args)&, Stream)>(launch);
        launch_ = [start, args] { start(args, Stream{}); };
      },
      problem);
}
Prepared::~Prepared() = default;

double seconds_of(const std::function<void()>& call) {
  struct Events {
    cudaEvent_t begin{}, end{};
    Events() {
      check(cudaEventCreate(&begin), "event");
      check(cudaEventCreate(&end), "event");
    }
    ~Events() {
      cudaEventDestroy(begin);
      cudaEventDestroy(end);
    }
  };
  static const Events events;
  check(cudaEventRecord(events.begin), "event");
  call();
  check(cudaEventRecord(events.end), "event");
  check(cudaEventSynchronize(events.end), "the measured call");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events.begin, events.end), "event");
  return milliseconds / 1e3;
}

void copy_halves(Buffer& buffer) {
  auto* data = static_cast<std::byte*>(buffer.data());
  const auto half = static_cast<std::size_t>(buffer.bytes() / 2);
  check(cudaMemcpyAsync(data + half, data, half, cudaMemcpyDeviceToDevice), "copy on the device");
}

std::string device_line() {
  cudaDeviceProp device{};
  int driver = 0;
  check(cudaGetDeviceProperties(&device, 0), "properties");
  check(cudaDriverGetVersion(&driver), "driver");
  return std::string(device.name) + ", driver API " + std::to_string(driver / 1000) + "." +
         std::to_string(driver % 1000 / 10);
}

}  // namespace flashproof::gpu_benchmark
