#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "reference/oracle/gpu/device.h"
#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/gpu/mma.h"

namespace flashproof {
namespace gpu {
namespace {

constexpr int kAccumulators = 8;
constexpr int kRounds = 16384;
constexpr int kThreads = 256;
constexpr int kRepeats = 5;

/// Matrix instructions on registers: what the attention kernel could reach if it did nothing else.
__global__ void __launch_bounds__(kThreads, 1) register_kernel(double* out) {
  double a[8], b[4], c[kAccumulators][4];
  for (int i = 0; i < 8; ++i) a[i] = 1.0 / (3 + i + threadIdx.x);
  for (int i = 0; i < 4; ++i) b[i] = 1.0 / (5 + i + threadIdx.x) - 0.0625;
  for (auto& tile : c) {
    for (double& x : tile) x = 0.25 * threadIdx.x;
  }
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (auto& tile : c) multiply_add(tile, a, b);
  }
  double sum = 0;
  for (const auto& tile : c) {
    for (const double x : tile) sum += x;
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// The median time of `launch`, in TFLOP/s.
template <typename Launch>
double teraflops(double flops, const Launch& launch) {
  launch();
  synchronize("warm-up");
  std::vector<double> times;
  for (int n = 0; n < kRepeats; ++n) {
    Stopwatch watch;
    launch();
    times.push_back(watch.milliseconds());
  }
  return flops / median(times) / 1e9;
}

__global__ void fill_kernel(double* values, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long bits = (i + 1) * 0x9e3779b97f4a7c15ull;  // splitmix64's first steps: some bits, not zeros
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
  values[i] = static_cast<double>(static_cast<long long>(bits)) * 0x1p-63;
}

/// The emulation of fp64 that CUDA 13 offers is switched by these. Its results are no sums of rounded products.
bool emulation_asked_for() {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    for (const char* prefix : {"CUBLAS_EMULAT", "CUBLAS_FIXEDPOINT_EMULATION"}) {
      if (std::strncmp(*variable, prefix, std::strlen(prefix)) == 0) return true;
    }
  }
  return false;
}

struct Library {
  void* handle = nullptr;
  std::string name;
  explicit Library(const std::string& wanted) {
    const std::vector<std::string> names =
        wanted.empty() ? std::vector<std::string>{"libcublas.so.13", "libcublas.so.12", "libcublas.so"}
                       : std::vector<std::string>{wanted};
    for (const std::string& one : names) {
      handle = dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle != nullptr) {
        name = one;
        return;
      }
    }
  }
  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  template <typename F>
  F* find(const char* symbol) const {
    return reinterpret_cast<F*>(dlsym(handle, symbol));
  }
};

using Create = int(void**);
using Destroy = int(void*);
using SetMathMode = int(void*, int);
using Dgemm = int(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*,
                  double*, int);

void measure_dgemm(const std::string& wanted, GpuCeiling& ceiling) {
  const Library library(wanted);
  if (library.handle == nullptr) {
    ceiling.note =
        "no cuBLAS (" + (wanted.empty() ? std::string("libcublas.so.13, .12") : wanted) + " cannot be loaded)";
    return;
  }
  auto* create = library.find<Create>("cublasCreate_v2");
  auto* destroy = library.find<Destroy>("cublasDestroy_v2");
  auto* set_math_mode = library.find<SetMathMode>("cublasSetMathMode");
  auto* dgemm = library.find<Dgemm>("cublasDgemm_v2");
  if (create == nullptr || destroy == nullptr || set_math_mode == nullptr || dgemm == nullptr) {
    ceiling.note = library.name + " lacks a function";
    return;
  }
  constexpr int kSize = 8192;
  constexpr std::size_t kElements = static_cast<std::size_t>(kSize) * kSize;
  DeviceArray<double> a(kElements), b(kElements), c(kElements);
  for (double* matrix : {a.data(), b.data()}) fill_kernel<<<kElements / kThreads, kThreads>>>(matrix, kElements);
  check_launch("fill_kernel");
  void* handle = nullptr;
  int status = create(&handle);
  if (status == 0) status = set_math_mode(handle, 0);  // CUBLAS_DEFAULT_MATH: native fp64
  const double one = 1, zero = 0;
  if (status == 0) {
    ceiling.dgemm = teraflops(2.0 * kSize * kElements, [&] {
      status |=
          dgemm(handle, 0, 0, kSize, kSize, kSize, &one, a.data(), kSize, b.data(), kSize, &zero, c.data(), kSize);
    });
  }
  if (handle != nullptr) destroy(handle);
  ceiling.note = library.name + " dgemm 8192^3, native math";
  if (status != 0) ceiling.dgemm = 0, ceiling.note = library.name + " failed with status " + std::to_string(status);
}

}  // namespace
}  // namespace gpu

GpuCeiling gpu_ceiling(const std::string& cublas) {
  using namespace gpu;
  if (emulation_asked_for()) {
    throw UsageError("a CUBLAS_EMULAT* or CUBLAS_FIXEDPOINT_EMULATION* variable is set: emulated fp64 is refused");
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  GpuCeiling ceiling;
  ceiling.device = properties.name;
  const int blocks = properties.multiProcessorCount;
  DeviceArray<double> out(static_cast<std::size_t>(blocks) * kThreads);
  const double flops = 2.0 * 16 * 8 * 16 * kAccumulators * kRounds * (kThreads / 32) * blocks;
  ceiling.registers = teraflops(flops, [&] {
    register_kernel<<<blocks, kThreads>>>(out.data());
    check_launch("register_kernel");
  });
  measure_dgemm(cublas, ceiling);
  return ceiling;
}

}  // namespace flashproof
