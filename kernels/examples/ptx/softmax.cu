// softmax of rows in two launches: a block of threads for the maximum and the sum of a row, then a thread per element.
#include <math.h>

constexpr int kThreads = 128;

extern "C" __global__ void row_statistics(const float* x, float2* statistics, float* lse, int cols, int stride) {
  __shared__ float part[kThreads];
  const int t = threadIdx.x;
  const float* row = x + static_cast<size_t>(blockIdx.x) * stride;

  float most = -INFINITY;
  for (int j = t; j < cols; j += kThreads) most = fmaxf(most, row[j]);
  part[t] = most;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  most = part[0] == -INFINITY ? 0 : part[0];  // a row of nothing else: every exp is 0
  __syncthreads();

  float sum = 0;
  for (int j = t; j < cols; j += kThreads) sum += expf(row[j] - most);
  part[t] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t > 0) return;
  statistics[blockIdx.x] = make_float2(most, part[0]);
  lse[blockIdx.x] = most + logf(part[0]);
}

extern "C" __global__ void normalize(const float* x, const float2* statistics, float* o, int cols, int stride) {
  const int r = blockIdx.y, j = blockIdx.x * kThreads + threadIdx.x;
  if (j >= cols) return;
  const float2 row = statistics[r];
  o[static_cast<size_t>(r) * cols + j] = row.y == 0 ? 0 : expf(x[static_cast<size_t>(r) * stride + j] - row.x) / row.y;
}
