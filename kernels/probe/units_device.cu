// One warp (mma.sync) or warpgroup (wgmma) per step: every row of A is `a`, every column of B is `b`, every element of C
// is `c`, so that every element of D must be the same step's result. Fragment layouts: PTX ISA, "Matrix fragments".
#include "kernels/probe/probe.h"
#include "reference/oracle/gpu/device.h"

namespace flashproof::probe {
namespace {

/// Elements first .. first + count − 1 of a factor, as one register.
__device__ std::uint32_t packed(const std::uint64_t* values, int first, int bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4 / bytes; ++i) word |= static_cast<std::uint32_t>(values[first + i]) << (8 * bytes * i);
  return word;
}

template <Format F>
constexpr int kBytes = F == Format::f32                        ? 4
                       : F == Format::f16 || F == Format::bf16 ? 2
                                                               : 1;

/// The k of a lane's two registers per row of A and per column of B: 32 bytes of K, lane t has bytes 4t and 16 + 4t.
template <Format F>
__device__ void load_factor(const std::uint64_t* values, std::uint32_t (&words)[2]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  words[0] = packed(values, 4 * t / kBytes<F>, kBytes<F>);
  words[1] = packed(values, (16 + 4 * t) / kBytes<F>, kBytes<F>);
}

__device__ void finish(const float (&d)[4], StepResult& result) {
  const std::uint32_t first = __shfl_sync(0xffffffffU, __float_as_uint(d[0]), 0);
  bool same = true;
  for (const float x : d) same = same && __float_as_uint(x) == first;
  const bool uniform = __all_sync(0xffffffffU, same);
  if (threadIdx.x == 0) result = {first, 1, uniform ? 1U : 0U};
}

#define FP_MMA(shape, type)                                                 \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type      \
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])             \
               : "r"(a[0]), "r"(a[0]), "r"(a[1]), "r"(a[1]), "r"(b[0]), "r"(b[1]))

template <Format F>
__global__ void mma_steps(const Step* steps, StepResult* results) {
#if __CUDA_ARCH__ >= 890
  const Step& step = steps[blockIdx.x];
  std::uint32_t a[2], b[2];
  load_factor<F>(step.a, a);
  load_factor<F>(step.b, b);
  const float c = __uint_as_float(static_cast<std::uint32_t>(step.c));
  float d[4] = {c, c, c, c};
  if constexpr (F == Format::f16) FP_MMA("m16n8k16", "f16");
  if constexpr (F == Format::bf16) FP_MMA("m16n8k16", "bf16");
  if constexpr (F == Format::f32) FP_MMA("m16n8k8", "tf32");
  if constexpr (F == Format::e4m3fn) FP_MMA("m16n8k32", "e4m3");
  if constexpr (F == Format::e5m2) FP_MMA("m16n8k32", "e5m2");
  finish(d, results[blockIdx.x]);
#endif
}

__global__ void mma_f64_steps(const Step* steps, StepResult* results) {
#if __CUDA_ARCH__ >= 800
  const Step& step = steps[blockIdx.x];
  const double a = __longlong_as_double(static_cast<long long>(step.a[threadIdx.x % 4]));
  const double b = __longlong_as_double(static_cast<long long>(step.b[threadIdx.x % 4]));
  const double c = __longlong_as_double(static_cast<long long>(step.c));
  double d[2] = {c, c};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a), "d"(b));
  const long long mine = __double_as_longlong(d[0]);
  const long long first = __shfl_sync(0xffffffffU, mine, 0);
  const bool uniform = __all_sync(0xffffffffU, mine == first && __double_as_longlong(d[1]) == first);
  if (threadIdx.x == 0) results[blockIdx.x] = {static_cast<std::uint64_t>(first), 1, uniform ? 1U : 0U};
#endif
}

// B, 8 columns of 32 bytes, in two core matrices of 8 x 16 bytes, K-major and without swizzle: 128 bytes apart in K.
#define FP_WGMMA(shape, type, last)                                                                                \
  asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." type \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, p, 1, 1" last ";\n}"                                            \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                    \
               : "r"(a[0]), "r"(a[0]), "r"(a[1]), "r"(a[1]), "l"(descriptor))

template <Format F>
__global__ void wgmma_steps(const Step* steps, StepResult* results) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ __align__(128) std::uint32_t tile[2 * 8 * 4];
  const Step& step = steps[blockIdx.x];
  if (threadIdx.x < 64) {
    const int word = static_cast<int>(threadIdx.x);  // core matrix, column, 4 bytes of K
    tile[word] = packed(step.b, (word / 32 * 16 + word % 4 * 4) / kBytes<F>, kBytes<F>);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  std::uint32_t a[2];
  load_factor<F>(step.a, a);
  const float c = __uint_as_float(static_cast<std::uint32_t>(step.c));
  float d[4] = {c, c, c, c};
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
  const std::uint64_t descriptor =
      ((address >> 4) & 0x3fff) | (std::uint64_t{128 >> 4} << 16) | (std::uint64_t{256 >> 4} << 32);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  if constexpr (F == Format::f16) FP_WGMMA("m64n8k16", "f16", ", 0");
  if constexpr (F == Format::bf16) FP_WGMMA("m64n8k16", "bf16", ", 0");
  if constexpr (F == Format::f32) FP_WGMMA("m64n8k8", "tf32", "");
  if constexpr (F == Format::e4m3fn) FP_WGMMA("m64n8k32", "e4m3", "");
  if constexpr (F == Format::e5m2) FP_WGMMA("m64n8k32", "e5m2", "");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  if (threadIdx.x < 32) finish(d, results[blockIdx.x]);
#endif
}

template <Format F>
void start(const Unit& unit, unsigned count, const Step* steps, StepResult* results) {
  if (unit.warpgroup) {
    wgmma_steps<F><<<count, 128>>>(steps, results);
  } else {
    mma_steps<F><<<count, 32>>>(steps, results);
  }
}

}  // namespace

std::vector<StepResult> run_steps_on_device(const Unit& unit, std::span<const Step> steps) {
  if (steps.empty()) return {};
  gpu::DeviceArray<Step> in(steps.size());
  in.upload(steps.data(), steps.size());
  gpu::DeviceArray<StepResult> out(steps.size());
  out.fill(0);
  const auto count = static_cast<unsigned>(steps.size());
  switch (unit.inputs) {
    case Format::f16:
      start<Format::f16>(unit, count, in.data(), out.data());
      break;
    case Format::bf16:
      start<Format::bf16>(unit, count, in.data(), out.data());
      break;
    case Format::f32:
      start<Format::f32>(unit, count, in.data(), out.data());
      break;
    case Format::e4m3fn:
      start<Format::e4m3fn>(unit, count, in.data(), out.data());
      break;
    case Format::e5m2:
      start<Format::e5m2>(unit, count, in.data(), out.data());
      break;
    case Format::f64:
      mma_f64_steps<<<count, 32>>>(in.data(), out.data());
      break;
  }
  gpu::check_launch("probe: steps");
  gpu::synchronize("probe: steps");
  return out.fetch();
}

}  // namespace flashproof::probe
