// Everything of det_math.h and storage.h in kernels, compiled to PTX for ptx_lint.sh.
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

__global__ void every_function(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  y[i] = det_exp(x[i]);
  y[i + n] = det_exp2(x[i]);
  y[i + 2 * n] = det_log(x[i]);
  y[i + 3 * n] = det_log2(x[i]);
  y[i + 4 * n] = det_exp_scaled(x[i]);
  y[i + 5 * n] = max_nan(x[i], y[i]);
  y[i + 6 * n] = det_tanh(x[i]);
}

template <Format F>
__global__ void load_and_store(const void* x, void* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) store<F>(y, i, max_nan(load<F>(x, i), 0.0f));
}

void launch_load_and_store(Format format, const void* x, void* y, int n) {
  dispatch_format(format, [&]<Format F>() { launch(load_and_store<F>, dim3(1), dim3(32), 0, Stream{}, x, y, n); });
}

}  // namespace flashproof::FP_EXECUTOR
