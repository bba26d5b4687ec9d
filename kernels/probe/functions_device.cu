// Every function of functions.h on all 2^32 patterns, the library's as nvcc compiles them by default.
#include <algorithm>

#include "kernels/probe/probe.h"
#include "kernels/probe/tally.h"
#include "kernels/simt/det_math/det_math.h"
#include "reference/oracle/gpu/device.h"

namespace flashproof::probe {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocks = 2048;  // 2^18 threads, 2^14 patterns each

/// NAME: a type whose operator() is the instruction or the library function. `constraint` of the PTX: f32 in, f32 out.
#define FP_PTX_FUNCTION(type, instruction)            \
  struct type {                                       \
    __device__ float operator()(float x) const {      \
      float y;                                        \
      asm(instruction " %0, %1;" : "=f"(y) : "f"(x)); \
      return y;                                       \
    }                                                 \
  };
#define FP_LIBRARY_FUNCTION(type, expression)                         \
  struct type {                                                       \
    __device__ float operator()(float x) const { return expression; } \
  };
FP_PTX_FUNCTION(Ex2Approx, "ex2.approx.f32")
FP_PTX_FUNCTION(Ex2ApproxFtz, "ex2.approx.ftz.f32")
FP_PTX_FUNCTION(Lg2Approx, "lg2.approx.f32")
FP_PTX_FUNCTION(Lg2ApproxFtz, "lg2.approx.ftz.f32")
FP_PTX_FUNCTION(RcpApprox, "rcp.approx.f32")
FP_PTX_FUNCTION(RcpApproxFtz, "rcp.approx.ftz.f32")
FP_PTX_FUNCTION(TanhApprox, "tanh.approx.f32")
FP_LIBRARY_FUNCTION(DetExp, cuda::det_exp(x))
FP_LIBRARY_FUNCTION(DetExp2, cuda::det_exp2(x))
FP_LIBRARY_FUNCTION(DetLog, cuda::det_log(x))
FP_LIBRARY_FUNCTION(DetLog2, cuda::det_log2(x))
FP_LIBRARY_FUNCTION(Exp2f, exp2f(x))
FP_LIBRARY_FUNCTION(Expf, expf(x))
FP_LIBRARY_FUNCTION(FastExpf, __expf(x))
FP_LIBRARY_FUNCTION(Log2f, log2f(x))
FP_LIBRARY_FUNCTION(Logf, logf(x))
FP_LIBRARY_FUNCTION(FastLogf, __logf(x))
FP_LIBRARY_FUNCTION(NativeLog, __fmul_rn(Lg2ApproxFtz{}(x), 0x1.62e430p-1F))
FP_LIBRARY_FUNCTION(RcpRn, __frcp_rn(x))
FP_LIBRARY_FUNCTION(Divide, __fdiv_rn(1.0F, x))
FP_LIBRARY_FUNCTION(FastDivide, __fdividef(1.0F, x))
FP_LIBRARY_FUNCTION(FastDivideAny, __fdividef(__uint_as_float(numerator_bits(__float_as_uint(x))), x))
FP_LIBRARY_FUNCTION(Tanhf, tanhf(x))

template <class F>
__global__ void __launch_bounds__(kThreads) sweep(Task task, ProbeCounts* tallies) {
  __shared__ __align__(
      8) unsigned char raw[kThreads * sizeof(ProbeCounts)];  // a ProbeCounts has initialisers, shared memory none
  ProbeCounts* const shared = reinterpret_cast<ProbeCounts*>(raw);
  ProbeCounts mine;
  const std::uint64_t step = std::uint64_t{kBlocks} * kThreads;
  for (std::uint64_t bits = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; bits < (std::uint64_t{1} << 32);
       bits += step) {
    mine.add(task, F{}, static_cast<std::uint32_t>(bits));
  }
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned offset = kThreads / 2; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) shared[threadIdx.x].merge(shared[threadIdx.x + offset]);
    __syncthreads();
  }
  if (threadIdx.x == 0) tallies[blockIdx.x] = shared[0];
}

struct Entry {
  std::string_view name;
  void (*kernel)(Task, ProbeCounts*);
};
constexpr Entry kEntries[] = {
    {"det_exp", sweep<DetExp>},
    {"det_exp2", sweep<DetExp2>},
    {"det_log", sweep<DetLog>},
    {"det_log2", sweep<DetLog2>},
    {"ex2.approx.f32", sweep<Ex2Approx>},
    {"ex2.approx.ftz.f32", sweep<Ex2ApproxFtz>},
    {"exp2f", sweep<Exp2f>},
    {"expf", sweep<Expf>},
    {"__expf", sweep<FastExpf>},
    {"lg2.approx.f32", sweep<Lg2Approx>},
    {"lg2.approx.ftz.f32", sweep<Lg2ApproxFtz>},
    {"log2f", sweep<Log2f>},
    {"logf", sweep<Logf>},
    {"__logf", sweep<FastLogf>},
    {"lg2.approx.ftz.f32 * ln 2", sweep<NativeLog>},
    {"rcp.approx.f32", sweep<RcpApprox>},
    {"rcp.approx.ftz.f32", sweep<RcpApproxFtz>},
    {"__frcp_rn", sweep<RcpRn>},
    {"1 / x", sweep<Divide>},
    {"__fdividef(1, x)", sweep<FastDivide>},
    {"__fdividef(c, x), one c in [1, 2) per x", sweep<FastDivideAny>},
    {"tanh.approx.f32", sweep<TanhApprox>},
    {"tanhf", sweep<Tanhf>},
};

}  // namespace

Gpu this_gpu() {
  cudaDeviceProp properties{};
  gpu::check(cudaGetDeviceProperties(&properties, 0), "the GPU's properties");
  return {properties.name, std::to_string(properties.major) + "." + std::to_string(properties.minor)};
}

ProbeCounts sweep_on_device(const Function& function) {
  const auto entry = std::ranges::find(kEntries, function.name, &Entry::name);
  if (entry == std::end(kEntries)) {
    throw InfrastructureError("probe: no device code for " + std::string(function.name));
  }
  gpu::DeviceArray<ProbeCounts> tallies(kBlocks);
  entry->kernel<<<kBlocks, kThreads>>>(task_of(function), tallies.data());
  gpu::check_launch("probe: sweep");
  gpu::synchronize("probe: sweep");
  ProbeCounts sum;
  for (const ProbeCounts& tally : tallies.fetch()) sum.merge(tally);
  return sum;
}

}  // namespace flashproof::probe
