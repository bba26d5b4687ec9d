#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/oracle/gpu/device.h"
#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/gpu/mma.h"
#include "reference/oracle/gpu/probe.h"

namespace flashproof {
namespace gpu {
namespace {

/// One warp per tile; the fragments as the manual numbers them (layout.h).
__global__ void probe_kernel(const ProbeTile* tiles, ProbeResult* results) {
  const ProbeTile& tile = tiles[blockIdx.x];
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  double a[8], b[4], c[4];
  for (int i = 0; i < 8; ++i) a[i] = tile.a[g + 8 * (i % 2)][t + 4 * (i / 2)];
  for (int i = 0; i < 4; ++i) b[i] = tile.b[t + 4 * i][g];
  for (int i = 0; i < 4; ++i) c[i] = tile.c[g + 8 * (i / 2)][2 * t + i % 2];
  multiply_add(c, a, b);
  for (int i = 0; i < 4; ++i) results[blockIdx.x].d[g + 8 * (i / 2)][2 * t + i % 2] = c[i];
}

__global__ void exp_kernel(const double* x, double* y, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = proven_exp(x[i]);
}

}  // namespace

std::vector<ProbeResult> device_multiply_add(std::span<const ProbeTile> tiles) {
  DeviceArray<ProbeTile> in(tiles.size());
  in.upload(tiles.data(), tiles.size());
  DeviceArray<ProbeResult> out(tiles.size());
  out.fill(0xff);
  probe_kernel<<<static_cast<unsigned>(tiles.size()), 32>>>(in.data(), out.data());
  check_launch("probe_kernel");
  synchronize("probe_kernel");
  return out.fetch();
}

}  // namespace gpu

std::vector<double> gpu_proven_exp(std::span<const double> x) {
  gpu::DeviceArray<double> in(x.size()), out(x.size());
  in.upload(x.data(), x.size());
  out.fill(0xff);
  if (x.empty()) return {};
  constexpr unsigned kThreads = 256;
  gpu::exp_kernel<<<static_cast<unsigned>((x.size() + kThreads - 1) / kThreads), kThreads>>>(in.data(), out.data(),
                                                                                             x.size());
  gpu::check_launch("exp_kernel");
  gpu::synchronize("exp_kernel");
  return out.fetch();
}

}  // namespace flashproof
