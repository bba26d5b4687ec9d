// What the GPU benchmark needs of the device: memory full of random numbers, problems whose tensors live there alone, and
// the time of one launch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/registry.h"

namespace flashproof::gpu_benchmark {

/// Device memory, freed with it. Throws InfrastructureError.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

/// Numbers of roughly normal law, mean 0 and variance 1 (a sum of four uniforms), in f32, f16 or bf16.
void fill(Buffer& buffer, Format format, std::uint64_t seed);

/// A kernel's launch on a problem whose tensors have a shape and no storage: they are made on the device.
class Prepared {
 public:
  /// `launch`: the kernel's det or native one. Throws UsageError if the kernel does not take the problem.
  Prepared(const Kernel& kernel, const Launch& launch, Problem problem);
  ~Prepared();
  void launch() const { launch_(); }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::function<void()> launch_;
};

/// Seconds of one call, by events on the device. Throws InfrastructureError if the call or the device failed.
double seconds_of(const std::function<void()>& call);
/// Copies the first half of the buffer to the second.
void copy_halves(Buffer& buffer);
/// "NVIDIA H200, driver 580.159.04, CUDA 13.0".
std::string device_line();

/// A tensor of this shape, dense, without storage.
Tensor shape_only(Format format, std::vector<std::int64_t> shape);

}  // namespace flashproof::gpu_benchmark
