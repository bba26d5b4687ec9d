#include "kernels/special_functions/device.h"

#include <algorithm>
#include <cstdio>

#include "reference/oracle/gpu/device.h"
#include "reference/system/error.h"

namespace flashproof::special {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 4096;

using Count = unsigned long long;  // what atomics take

// One type per instruction: `device` is the instruction, `model` ours.
#define FP_TYPE_32(type, ptx, function)                                                                \
  struct type {                                                                                        \
    __device__ static std::uint32_t device(std::uint32_t x) {                                          \
      std::uint32_t y;                                                                                 \
      asm volatile("{.reg .b32 t; mov.b32 t, %1; " ptx " t, t; mov.b32 %0, t;}" : "=r"(y) : "r"(x));   \
      return y;                                                                                        \
    }                                                                                                  \
    __device__ static std::uint32_t model(const Tables& t, std::uint32_t x) { return function(t, x); } \
  };
#define FP_TYPE_16(type, ptx, function)                                         \
  struct type {                                                                 \
    __device__ static std::uint32_t device(std::uint32_t x) {                   \
      std::uint16_t y;                                                          \
      asm volatile("{.reg .b16 t; mov.b16 t, %1; " ptx " t, t; mov.b16 %0, t;}" \
                   : "=h"(y)                                                    \
                   : "h"(static_cast<std::uint16_t>(x)));                       \
      return y;                                                                 \
    }                                                                           \
    __device__ static std::uint32_t model(const Tables& t, std::uint32_t x) {   \
      return function(t, static_cast<std::uint16_t>(x));                        \
    }                                                                           \
  };
// What the target architecture lacks is compiled as nothing; on_device() says so.
#define FP_TYPE_ABSENT(type, ptx, function)                                           \
  struct type {                                                                       \
    __device__ static std::uint32_t device(std::uint32_t) { return 0; }               \
    __device__ static std::uint32_t model(const Tables&, std::uint32_t) { return 0; } \
  };
FP_SPECIAL_F32(FP_TYPE_32)
FP_SPECIAL_PACKED(FP_TYPE_32)
FP_SPECIAL_16(FP_TYPE_16)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
FP_SPECIAL_PACKED_SM_90(FP_TYPE_32)
FP_SPECIAL_16_SM_90(FP_TYPE_16)
#else
FP_SPECIAL_PACKED_SM_90(FP_TYPE_ABSENT)
FP_SPECIAL_16_SM_90(FP_TYPE_ABSENT)
#endif

struct Found {
  Count differ, first;
};

template <class F>
__global__ void fill(std::uint32_t first, std::uint32_t count, std::uint32_t* outputs) {
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += kBlocks * kThreads) {
    outputs[i] = F::device(first + i);
  }
}

/// A block per class.
template <class F>
__global__ void hash_classes(Count* hashes) {
  Count sum = 0;
  for (std::uint32_t group = blockIdx.y * kThreads + threadIdx.x; group < kClassSize; group += gridDim.y * kThreads) {
    const std::uint32_t x = class_input(blockIdx.x, group);
    sum += hash(x, F::device(x));
  }
  atomicAdd(hashes + blockIdx.x, sum);
}

template <class F>
__global__ void compare(const Tables* tables, std::uint64_t inputs, Found* found) {
  Count differ = 0, first = ~Count{0};
  for (std::uint64_t i = blockIdx.x * kThreads + threadIdx.x; i < inputs; i += kBlocks * kThreads) {
    const auto x = static_cast<std::uint32_t>(i);
    if (F::device(x) == F::model(*tables, x)) continue;
    ++differ;
    first = first < i ? first : i;
  }
  if (differ == 0) return;
  atomicAdd(&found->differ, differ);
  atomicMin(&found->first, first);
}

struct Entry {
  std::string_view name;
  bool needs_sm_90;
  void (*fill)(std::uint32_t, std::uint32_t, std::uint32_t*);
  void (*hash_classes)(Count*);
  void (*compare)(const Tables*, std::uint64_t, Found*);
};
constexpr Entry kEntries[] = {
#define FP_ENTRY(type, ptx, function) {ptx, false, fill<type>, hash_classes<type>, compare<type>},
#define FP_ENTRY_SM_90(type, ptx, function) {ptx, true, fill<type>, hash_classes<type>, compare<type>},
    FP_SPECIAL_F32(FP_ENTRY) FP_SPECIAL_PACKED(FP_ENTRY) FP_SPECIAL_16(FP_ENTRY) FP_SPECIAL_PACKED_SM_90(FP_ENTRY_SM_90)
        FP_SPECIAL_16_SM_90(FP_ENTRY_SM_90)};

const Entry& entry_of(const Instruction& instruction) {
  return *std::ranges::find(kEntries, instruction.name, &Entry::name);
}

}  // namespace

bool on_device(const Instruction& instruction) {
  cudaFuncAttributes attributes{};
  gpu::check(cudaFuncGetAttributes(&attributes, entry_of(instruction).fill), "the special functions' code");
  return !entry_of(instruction).needs_sm_90 || attributes.binaryVersion >= 90;
}

std::vector<std::uint32_t> device_outputs(const Instruction& instruction, std::uint32_t first, std::uint32_t count) {
  const gpu::DeviceArray<std::uint32_t> outputs(count);
  entry_of(instruction).fill<<<kBlocks, kThreads>>>(first, count, outputs.data());
  gpu::check_launch("special functions: outputs");
  gpu::synchronize("special functions: outputs");
  return outputs.fetch();
}

std::vector<std::uint64_t> device_classes(const Instruction& instruction) {
  gpu::DeviceArray<Count> hashes(kClasses);
  hashes.fill(0);
  entry_of(instruction).hash_classes<<<dim3(kClasses, 32), kThreads>>>(hashes.data());
  gpu::check_launch("special functions: hashes");
  gpu::synchronize("special functions: hashes");
  const std::vector<Count> fetched = hashes.fetch();
  return {fetched.begin(), fetched.end()};
}

Comparison compare_on_device(const Instruction& instruction, const Tables& tables) {
  const gpu::DeviceArray<Tables> on_gpu(std::vector<Tables>{tables});
  const gpu::DeviceArray<Found> found(std::vector<Found>{{0, ~Count{0}}});
  Comparison result;
  result.inputs = std::uint64_t{1} << instruction.bits;
  entry_of(instruction).compare<<<kBlocks, kThreads>>>(on_gpu.data(), result.inputs, found.data());
  gpu::check_launch("special functions: comparison");
  gpu::synchronize("special functions: comparison");
  const Found f = found.fetch().front();
  result.differ = f.differ;
  if (f.differ == 0) return result;
  result.first = static_cast<std::uint32_t>(f.first);
  result.device = device_outputs(instruction, result.first, 1).front();
  result.model = instruction.model(tables, result.first);
  return result;
}

}  // namespace flashproof::special
