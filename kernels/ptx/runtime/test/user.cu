// A test as a user writes it: memory, symbols, streams, events, shared memory, attributes, managed memory. Exit code 0: all is right.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                     \
  do {                                                                                                  \
    const cudaError_t status = (call);                                                                  \
    if (status != cudaSuccess) {                                                                        \
      std::printf("line %d: %s: %s\n", __LINE__, cudaGetErrorName(status), cudaGetErrorString(status)); \
      return 1;                                                                                         \
    }                                                                                                   \
  } while (false)

__constant__ float weights[4];
__device__ unsigned launches;
__managed__ int longest = 3;

/// A row of 128 columns for each block: its weighted sum.
__global__ void row_sums(const float* rows, float* sums) {
  extern __shared__ float parts[];
  parts[threadIdx.x] = rows[blockIdx.x * blockDim.x + threadIdx.x] * weights[threadIdx.x % 4];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
  if (threadIdx.x == 0) atomicAdd(&launches, 1);
  if (threadIdx.x == 0 && blockIdx.x == 0) longest = static_cast<int>(blockDim.x);
}

template <class Number>
__global__ void twice(Number* numbers, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) numbers[i] = numbers[i] + numbers[i];
}

int check_sums(cudaStream_t stream) {
  constexpr int kRows = 6, kCols = 128;
  std::vector<float> rows(kRows * kCols), sums(kRows);
  for (int i = 0; i < kRows * kCols; ++i) rows[i] = static_cast<float>(i / kCols + i % 3);
  const float host_weights[4] = {1, 2, 3, 4};
  float *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, rows.size() * sizeof(float)));
  CHECK(cudaMallocAsync(reinterpret_cast<void**>(&out), sums.size() * sizeof(float), stream));
  CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
  CHECK(cudaMemcpyAsync(in, rows.data(), rows.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  CHECK(cudaFuncSetAttribute(row_sums, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
  row_sums<<<kRows, kCols, 60 << 10, stream>>>(in, out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(sums.data(), out, sums.size() * sizeof(float), cudaMemcpyDefault, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int row = 0; row < kRows; ++row) {
    float sum = 0;
    for (int col = 0; col < kCols; ++col) sum += rows[row * kCols + col] * host_weights[col % 4];
    if (sums[row] != sum) return std::printf("row %d: %g, not %g\n", row, sums[row], sum), 1;
  }
  unsigned counted = 0;
  CHECK(cudaMemcpyFromSymbol(&counted, launches, sizeof counted));
  if (counted != kRows || longest != kCols) return std::printf("%u blocks, %d columns\n", counted, longest), 1;
  CHECK(cudaFree(in));
  CHECK(cudaFreeAsync(out, stream));
  return 0;
}

int check_rows_and_attributes() {
  std::size_t pitch = 0;
  double* rows = nullptr;
  CHECK(cudaMallocPitch(&rows, &pitch, 5 * sizeof(double), 3));
  double host[3][5] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {11, 12, 13, 14, 15}};
  CHECK(cudaMemcpy2D(rows, pitch, host, sizeof host[0], sizeof host[0], 3, cudaMemcpyHostToDevice));
  int count = 5;
  for (int row = 0; row < 3; ++row) {
    double* at = rows + row * pitch / sizeof(double);
    void* arguments[] = {&at, &count};
    cudaLaunchConfig_t config{dim3(1), dim3(32), 0, nullptr, nullptr, 0};
    CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(&twice<double>), arguments));
  }
  CHECK(cudaMemcpy2D(host, sizeof host[0], rows, pitch, sizeof host[0], 3, cudaMemcpyDeviceToHost));
  if (host[0][0] != 2 || host[2][4] != 30) return std::printf("rows: %g, %g\n", host[0][0], host[2][4]), 1;
  int blocks = 0, best = 0, least = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, twice<double>, 256, 0));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &best, twice<double>, 0, 0));
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, twice<double>));
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s: %d blocks, %d threads at best, at most %d\n", properties.name, blocks, best,
              attributes.maxThreadsPerBlock);
  return blocks == 8 && attributes.maxThreadsPerBlock == 1024 && properties.warpSize == 32 ? 0 : 1;
}

int main() {
  cudaStream_t stream{};
  cudaEvent_t start{}, end{};
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(start, stream));
  if (check_sums(stream) != 0 || check_rows_and_attributes() != 0) return 1;
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaStreamDestroy(stream));
  std::printf("%s\n", milliseconds >= 0 ? "all is right" : "time runs backwards");
  return milliseconds >= 0 ? 0 : 1;
}
