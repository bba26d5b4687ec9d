// Memory and time on the device; every CUDA call is checked. For the .cu files of this folder only.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "reference/system/error.h"

namespace flashproof::gpu {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw InfrastructureError(std::string("cuda: ") + what + ": " + cudaGetErrorString(status));
  }
}

/// After a launch: what was wrong with it. What the kernel did wrong appears in synchronize().
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }
inline void synchronize(const char* what) { check(cudaDeviceSynchronize(), what); }

/// Uninitialised device memory for n objects.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t n) : size_(n) {
    if (n > 0) check(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) { upload(host.data(), host.size()); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  void upload(const void* host, std::size_t n) {
    if (n > 0) check(cudaMemcpy(data_, host, n * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
  }
  void fetch(T* host, std::size_t first, std::size_t n) const {
    if (n > 0) check(cudaMemcpy(host, data_ + first, n * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
  }
  std::vector<T> fetch() const {
    std::vector<T> host(size_);
    fetch(host.data(), 0, size_);
    return host;
  }
  /// Every byte.
  void fill(int byte) {
    if (size_ > 0) check(cudaMemsetAsync(data_, byte, size_ * sizeof(T)), "cudaMemset");
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Time between two points of the default stream.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
    check(cudaEventRecord(start_), "cudaEventRecord");
  }
  ~Stopwatch() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  /// Waits for the device.
  double milliseconds() {
    check(cudaEventRecord(stop_), "cudaEventRecord");
    check(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    float result = 0;
    check(cudaEventElapsedTime(&result, start_, stop_), "cudaEventElapsedTime");
    return result;
  }

 private:
  cudaEvent_t start_{}, stop_{};
};

}  // namespace flashproof::gpu
