#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "reference/oracle/gpu/device.h"
#include "reference/oracle/gpu/layout.h"
#include "reference/oracle/gpu/prepare.h"

namespace flashproof::gpu {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xffffffffu;

/// Exact: every narrower number is a double, and no flag here flushes subnormals.
__device__ double load(const DeviceTensor& tensor, std::int64_t offset) {
  if (tensor.format == Format::f32) return static_cast<const float*>(tensor.data)[offset];
  const unsigned short bits = static_cast<const unsigned short*>(tensor.data)[offset];
  if (tensor.format == Format::bf16) return __uint_as_float(static_cast<unsigned>(bits) << 16);
  return __half2float(__ushort_as_half(bits));
}

/// The exponent of the lowest set bit of x, a number of f32; 0 gives none (the largest int).
__device__ int lowest_bit(double x) {
  const long long bits = __double_as_longlong(x);
  if ((bits & 0x7fffffffffffffffLL) == 0) return 0x7fffffff;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 - 52;
  return exponent + __ffsll(bits | 1LL << 52) - 1;  // the hidden bit is the highest of 53, so it counts last
}

/// ‖x‖ and ‖x‖·2^−t from above, of the vector whose components the lanes of a warp hold.
struct Norms {
  double norm, quanta;
};
__device__ Norms norms(const double (&x)[kDepth / kLanes]) {
  double sum = 0;
  int lowest = 0x7fffffff;
  for (const double component : x) {
    sum = __fma_ru(component, component, sum);
    lowest = min(lowest, lowest_bit(component));
  }
  for (int step = kLanes / 2; step > 0; step /= 2) {
    sum = __dadd_ru(sum, __shfl_xor_sync(kAllLanes, sum, step));
    lowest = min(lowest, __shfl_xor_sync(kAllLanes, lowest, step));
  }
  if (sum == 0) return {0, 0};
  const double norm = __dsqrt_ru(sum);
  return {norm, __dmul_ru(norm, __longlong_as_double(static_cast<long long>(1023 - lowest) << 52))};
}

/// Component lane + 32 n of row `row` of head `head` of sequence `batch`; 0 from row `length` on and beyond the depth.
__device__ void load_row(const DeviceTensor& tensor, int batch, int head, int row, int length,
                         double (&x)[kDepth / kLanes]) {
  const int lane = threadIdx.x % kLanes;
  const std::int64_t start = batch * tensor.stride[0] + head * tensor.stride[1] + row * tensor.stride[2];
  for (int n = 0; n < kDepth / kLanes; ++n) {
    const int c = lane + kLanes * n;
    const bool inside = row < length && c < tensor.depth;
    x[n] = inside ? load(tensor, start + c * tensor.stride[3]) : 0.0;
  }
}

/// The bits of non-negative doubles are ordered as they are.
__device__ void raise(unsigned long long* bound, double value) {
  atomicMax(bound, static_cast<unsigned long long>(__double_as_longlong(value)));
}
__device__ double value_of(unsigned long long bits) { return __longlong_as_double(static_cast<long long>(bits)); }

__global__ void __launch_bounds__(kThreads)
    prepare_queries(DeviceTensor q, int heads, double scale_error, double* image, RowTerms* terms) {
  const int lane = threadIdx.x % kLanes;
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  for (int r = threadIdx.x / kLanes; r < kRows; r += kThreads / kLanes) {
    double x[kDepth / kLanes];
    load_row(q, blockIdx.y / heads, blockIdx.y % heads, blockIdx.x * kRows + r, q.length, x);
    for (int n = 0; n < kDepth / kLanes; ++n) image[block * kQueryBlock + query_offset(r, lane + kLanes * n)] = x[n];
    const Norms n = norms(x);
    if (lane == 0)
      terms[block * kRows + r] = {__double2float_ru(__dmul_ru(scale_error, n.norm)), __double2float_ru(n.quanta)};
  }
}

__global__ void __launch_bounds__(kThreads)
    prepare_keys(DeviceTensor k, DeviceTensor v, const int* key_length, int heads, double* k_image, double* v_image,
                 HeadBounds* head) {
  __shared__ unsigned long long norm, quanta, value;
  __shared__ unsigned long long column[kDepth];
  if (threadIdx.x == 0) norm = quanta = value = 0;
  if (threadIdx.x < kDepth) column[threadIdx.x] = 0;
  __syncthreads();
  const int lane = threadIdx.x % kLanes, batch = blockIdx.y / heads, length = key_length[batch];
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  for (int j = threadIdx.x / kLanes; j < kKeys; j += kThreads / kLanes) {
    double x[kDepth / kLanes];
    load_row(k, batch, blockIdx.y % heads, blockIdx.x * kKeys + j, length, x);
    for (int n = 0; n < kDepth / kLanes; ++n) k_image[tile * kKeyTile + key_offset(j, lane + kLanes * n)] = x[n];
    const Norms of_key = norms(x);
    if (lane == 0) raise(&norm, of_key.norm), raise(&quanta, of_key.quanta);
    load_row(v, batch, blockIdx.y % heads, blockIdx.x * kKeys + j, length, x);
    for (int n = 0; n < kDepth / kLanes; ++n) {
      v_image[tile * kTile + value_offset(j, lane + kLanes * n)] = x[n];
      raise(&column[lane + kLanes * n], fabs(x[n]));
    }
  }
  __syncthreads();
  if (threadIdx.x < kDepth) {
    raise(&value, value_of(column[threadIdx.x]));
    atomicMax(&head[blockIdx.y].column[threadIdx.x], column[threadIdx.x]);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const TileBounds bounds{value_of(norm), value_of(quanta), value_of(value), 0};
    *reinterpret_cast<TileBounds*>(k_image + tile * kKeyTile + kTile) = bounds;
    atomicMax(&head[blockIdx.y].norm, norm);
    atomicMax(&head[blockIdx.y].quanta, quanta);
  }
}

}  // namespace

void prepare(const DeviceTensor& q, const DeviceTensor& k, const DeviceTensor& v, const int* key_length, int batch,
             int q_heads, int k_heads, double scale_error, const Prepared& out) {
  const auto blocks = [](int n, int size) { return static_cast<unsigned>((n + size - 1) / size); };
  check(cudaMemsetAsync(out.head, 0, static_cast<std::size_t>(batch) * k_heads * sizeof(HeadBounds)), "cudaMemset");
  if (q.length > 0) {
    prepare_queries<<<dim3(blocks(q.length, kRows), batch * q_heads), kThreads>>>(q, q_heads, scale_error, out.q,
                                                                                  out.row);
    check_launch("prepare_queries");
  }
  if (k.length > 0) {
    prepare_keys<<<dim3(blocks(k.length, kKeys), batch * k_heads), kThreads>>>(k, v, key_length, k_heads, out.k, out.v,
                                                                               out.head);
    check_launch("prepare_keys");
  }
}

}  // namespace flashproof::gpu
