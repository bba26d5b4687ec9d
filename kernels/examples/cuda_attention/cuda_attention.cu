// Attention in plain CUDA behind flashproof's C ABI: one block for each query, its scores in the workspace. f32 and f16 storage.
#include <cuda_fp16.h>

#include <cstdio>

#include "kernels/plugin.h"

constexpr int kThreads = 128;
struct Shape {
  int heads, group, q_length, k_length, d, dv, causal;
  float scale;
  int64_t q[4] = {}, k[4] = {}, v[4] = {};  // strides
};

__device__ float to_float(float x) { return x; }
__device__ float to_float(__half x) { return __half2float(x); }
__device__ void put(float* to, float x) { *to = x; }
__device__ void put(__half* to, float x) { *to = __float2half_rn(x); }

template <class Op>
__device__ float reduce(float value, Op op) {
  __shared__ float part[kThreads];
  part[threadIdx.x] = value;
  for (int step = kThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] = op(part[threadIdx.x], part[threadIdx.x + step]);
  }
  __syncthreads();
  value = part[0];
  __syncthreads();
  return value;
}

template <class T>
__global__ void attend(const T* q, const T* k, const T* v, const int* length, T* o, float* lse, float* scores,
                       Shape s) {
  const int64_t row = blockIdx.x, i = row % s.q_length, h = row / s.q_length % s.heads, b = row / s.q_length / s.heads;
  q += b * s.q[0] + h * s.q[1] + i * s.q[2];
  k += b * s.k[0] + h / s.group * s.k[1], v += b * s.v[0] + h / s.group * s.v[1];
  scores += row * s.k_length;
  int64_t keys = length ? length[b] : s.k_length;
  if (s.causal) keys = min(keys, max(i + s.k_length - s.q_length + 1, int64_t{0}));  // aligned bottom right
  float top = -INFINITY, sum = 0;
  for (int64_t j = threadIdx.x; j < keys; j += kThreads) {
    float dot = 0;
    for (int c = 0; c < s.d; ++c) dot += to_float(q[c * s.q[3]]) * to_float(k[j * s.k[2] + c * s.k[3]]);
    scores[j] = dot * s.scale;
    top = isnan(scores[j]) || scores[j] > top ? scores[j] : top;
  }
  top = reduce(top, [](float a, float c) { return isnan(a) || a > c ? a : c; });
  for (int64_t j = threadIdx.x; top != -INFINITY && j < keys; j += kThreads) sum += scores[j] = expf(scores[j] - top);
  sum = reduce(sum, [](float a, float c) { return a + c; });
  for (int c = threadIdx.x; c < s.dv; c += kThreads) {
    float value = 0;
    for (int64_t j = 0; top != -INFINITY && j < keys; ++j) value += scores[j] * to_float(v[j * s.v[2] + c * s.v[3]]);
    put(&o[row * s.dv + c], top == -INFINITY ? 0.0F : value / sum);
  }
  if (threadIdx.x == 0) lse[row] = top == -INFINITY ? top : top + logf(sum);
}

template <class T>
static void launch(const flashproof_call* call, const Shape& s, int64_t rows) {
  const flashproof_attention* a = call->attention;
  attend<T><<<static_cast<unsigned>(rows), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const T*>(flashproof_data(a->q)), static_cast<const T*>(flashproof_data(a->k)),
      static_cast<const T*>(flashproof_data(a->v)), static_cast<const int*>(flashproof_data(a->key_length)),
      static_cast<T*>(flashproof_data(call->o)), static_cast<float*>(flashproof_data(call->lse)),
      static_cast<float*>(call->workspace), s);
}

static int64_t workspace_bytes(const flashproof_call* call) {
  const int64_t* q = call->attention->q->shape;
  return q[0] * q[1] * q[2] * call->attention->k->shape[2] * static_cast<int64_t>(sizeof(float));
}

static int32_t run(const flashproof_call* call) {
  const flashproof_attention* a = call->attention;
  const int64_t *q = a->q->shape, *k = a->k->shape, rows = q[0] * q[1] * q[2];
  Shape s{int(q[1]), int(q[1] / k[1]), int(q[2]), int(k[2]), int(q[3]), int(a->v->shape[3]), a->causal, a->scale};
  for (int i = 0; i < 4; ++i) s.q[i] = a->q->strides[i], s.k[i] = a->k->strides[i], s.v[i] = a->v->strides[i];
  if (rows > 0) a->q->dtype.bits == 32 ? launch<float>(call, s, rows) : launch<__half>(call, s, rows);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) snprintf(call->error, call->error_size, "%s", cudaGetErrorString(status));
  return status == cudaSuccess ? FLASHPROOF_OK : FLASHPROOF_ERROR;
}

const char description[] = R"({"formats": ["f32", "f16"], "takes": ["causal", "key_length", "gqa"], "strides": "any",
    "deterministic": true, "isolates_hidden": true, "arithmetic": "unknown"})";
// clang-format off
const flashproof_kernel kernel = {sizeof(flashproof_kernel), "attention.block_per_query.cuda", FLASHPROOF_ATTENTION,
                                  FLASHPROOF_CUDA, description, run, workspace_bytes, nullptr};
// clang-format on
const flashproof_kernel* const kernels[] = {&kernel};
const flashproof_plugin plugin = {
    FLASHPROOF_PLUGIN_ABI, 0, sizeof(flashproof_plugin), "cuda_attention", "1.0", 1, kernels};

const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) {
  return abi == FLASHPROOF_PLUGIN_ABI ? &plugin : nullptr;
}
