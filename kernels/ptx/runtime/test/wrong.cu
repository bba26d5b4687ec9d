// Kernels with one mistake each, for a program that checks errors as CUDA's examples do: wrong race|outside|host|unset|graph.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

__global__ void reverse(float* row) {
  __shared__ float parts[64];
  parts[threadIdx.x] = row[threadIdx.x];
#ifdef FLASHPROOF_RIGHT
  __syncthreads();
#endif
  row[threadIdx.x] = parts[63 - threadIdx.x];
}

__global__ void fill(float* row, int count) {
  const int i = static_cast<int>(threadIdx.x);
  if (i <= count) row[i] = 1;
}

__global__ void partial(float* row) {
  __shared__ float parts[32];
  if (threadIdx.x < 31) parts[threadIdx.x] = 1;
  __syncwarp();
  row[threadIdx.x] = parts[threadIdx.x];
}

int main(int argc, char** argv) {
  const char* mistake = argc > 1 ? argv[1] : "";
  std::vector<float> host(64);
  float* row = nullptr;
  cudaMalloc(&row, host.size() * sizeof(float));
  cudaMemset(row, 0, host.size() * sizeof(float));
  if (std::strcmp(mistake, "race") == 0) reverse<<<1, 64>>>(row);
  if (std::strcmp(mistake, "outside") == 0) fill<<<1, 128>>>(row, 64);
  if (std::strcmp(mistake, "host") == 0) fill<<<1, 32>>>(host.data(), 10);
  if (std::strcmp(mistake, "unset") == 0) partial<<<1, 32>>>(row);
  cudaGraph_t graph{};
  if (std::strcmp(mistake, "graph") == 0) cudaGraphCreate(&graph, 0);
  const cudaError_t status = cudaDeviceSynchronize();
  std::printf("at the end: %s\n", cudaGetErrorName(status != cudaSuccess ? status : cudaGetLastError()));
  return status == cudaSuccess ? 0 : 1;
}
