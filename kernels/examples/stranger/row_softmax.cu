// Row softmax, one block per row. Ordinary CUDA, nothing here knows of flashproof.
#include <cuda_runtime.h>
#include <math.h>

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Op>
__device__ float block_reduce(float value, Op op) {
  __shared__ float partial[32];
  for (int offset = 16; offset > 0; offset >>= 1) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[0];
  for (int warp = 1; warp < blockDim.x / 32; ++warp) value = op(value, partial[warp]);
  __syncthreads();
  return value;
}

__global__ void softmax_kernel(const float* x, float* y, float* lse, int cols) {
  x += (size_t)blockIdx.x * cols;
  y += (size_t)blockIdx.x * cols;
  float m = -INFINITY;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) m = fmaxf(m, x[j]);
  m = block_reduce(m, Larger());
  float s = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) s += y[j] = expf(x[j] - m);
  s = block_reduce(s, Plus());
  for (int j = threadIdx.x; j < cols; j += blockDim.x) y[j] /= s;
  if (threadIdx.x == 0) lse[blockIdx.x] = m + logf(s);
}

void softmax(const float* x, float* y, float* lse, int rows, int cols) {
  softmax_kernel<<<rows, 128>>>(x, y, lse, cols);
}
