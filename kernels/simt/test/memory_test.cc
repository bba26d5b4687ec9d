// Shared memory: poison in every form, one array per declaration and instance, fresh for every block. 16-byte access.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/simt.h"

namespace flashproof::cpu {
namespace {

__global__ void never_written_kernel(float* out) {
  FP_SHARED(float, tile, 8);
  FP_DYNAMIC_SHARED(float, work);
  out[threadIdx.x] = tile[threadIdx.x];
  out[8 + threadIdx.x] = work[threadIdx.x];
}

template <class T, int kCount>
__global__ void never_written_template_kernel(unsigned char* out) {
  FP_SHARED(T, tile, kCount);
  FP_SHARED(T, other, kCount);
  std::memcpy(out + threadIdx.x * 2 * sizeof(T), &tile[threadIdx.x], sizeof(T));
  std::memcpy(out + (threadIdx.x * 2 + 1) * sizeof(T), &other[threadIdx.x], sizeof(T));
}

TEST(Poison, NeverWrittenElementsAreNan) {
  std::vector<float> out(16, 0.0f);
  launch(never_written_kernel, 1, 8, 32, {}, out.data());
  for (const float x : out) EXPECT_TRUE(std::isnan(x));
}

template <class T>
void check_template_poison() {
  std::vector<unsigned char> out(2 * 5 * sizeof(T), 0);
  launch(never_written_template_kernel<T, 5>, 1, 5, 0, {}, out.data());
  for (const unsigned char byte : out) EXPECT_EQ(byte, 0xff);
}

TEST(Poison, InTemplates) {
  check_template_poison<float>();
  check_template_poison<std::uint16_t>();
  check_template_poison<std::uint8_t>();
  check_template_poison<double>();
  check_template_poison<float4>();
}

// Only thread 3 of each block writes; all others must find poison, never the last block's numbers.
__global__ void stale_kernel(int* stale) {
  FP_SHARED(float, tile, 4);
  FP_DYNAMIC_SHARED(float, work);
  for (int i = 0; i < 4; ++i) {
    if (!std::isnan(tile[i]) || !std::isnan(work[i])) atomicAdd(stale, 1);
  }
  __syncthreads();
  if (threadIdx.x == 3) {
    for (int i = 0; i < 4; ++i) tile[i] = work[i] = 1.0f;
  }
}

TEST(Poison, AgainInEveryBlockAndLaunch) {
  int stale = 0;
  for (int i = 0; i < 3; ++i) launch(stale_kernel, 20, 8, 16, {}, &stale);
  EXPECT_EQ(stale, 0);
}

template <int kWhich>
__device__ float* array_of() {
  FP_SHARED(float, tile, 4);
  static_assert(sizeof(tile) == 16, "an array, as in CUDA, no pointer");
  return tile;
}

__global__ void identity_kernel(float** out) {
  out[threadIdx.x * 4] = array_of<0>();
  out[threadIdx.x * 4 + 1] = array_of<1>();
  out[threadIdx.x * 4 + 2] = array_of<0>();
  FP_SHARED(float, tile, 4);
  out[threadIdx.x * 4 + 3] = tile;
}

TEST(Shared, OneArrayPerDeclarationAndInstance) {
  std::vector<float*> out(16);
  launch(identity_kernel, 1, 4, 0, {}, out.data());
  EXPECT_EQ(out[0], out[2]);
  EXPECT_NE(out[0], out[1]);
  EXPECT_NE(out[0], out[3]);
  EXPECT_NE(out[1], out[3]);
  for (std::size_t i = 4; i < 16; ++i) EXPECT_EQ(out[i], out[i % 4]);
  for (const float* p : out) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 16, 0u);
}

// Two kernels see the one dynamic array as different types.
__global__ void dynamic_bytes_kernel(int* sum) {
  FP_DYNAMIC_SHARED(std::uint8_t, bytes);
  bytes[threadIdx.x] = static_cast<std::uint8_t>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < blockDim.x; ++i) *sum += bytes[i];
  }
}
__global__ void dynamic_double_kernel(double* sum) {
  FP_DYNAMIC_SHARED(double, work);
  work[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < blockDim.x; ++i) *sum += work[i];
  }
}

TEST(Shared, DynamicUpToTheLimit) {
  int sum = 0;
  launch(dynamic_bytes_kernel, 1, 100, 100, {}, &sum);
  EXPECT_EQ(sum, 4950);
  double total = 0;
  launch(dynamic_double_kernel, 1, 100, 232448, {}, &total);
  EXPECT_EQ(total, 4950.0);
}

__global__ void vector_kernel(const float* in, float* out, const std::uint8_t* bytes_in, std::uint8_t* bytes_out) {
  float4 v = load_f32x4(in + 4 * threadIdx.x);
  v = make_float4(v.w, v.z, v.y, v.x);
  store_f32x4(out + 4 * threadIdx.x, v);
  store_u32x4(bytes_out + 16 * threadIdx.x, load_u32x4(bytes_in + 16 * threadIdx.x));
}

TEST(Vectors, SixteenBytes) {
  alignas(16) float in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  alignas(16) float out[8] = {};
  alignas(16) std::uint8_t bytes_in[32];
  alignas(16) std::uint8_t bytes_out[32] = {};
  for (std::uint8_t i = 0; i < 32; ++i) bytes_in[i] = static_cast<std::uint8_t>(200 + i);
  launch(vector_kernel, 1, 2, 0, {}, in, out, bytes_in, bytes_out);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[i], in[i / 4 * 4 + 3 - i % 4]);
  EXPECT_EQ(std::memcmp(bytes_in, bytes_out, 32), 0);
}

#if defined(__SANITIZE_ADDRESS__)
#define FP_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FP_TEST_ASAN 1
#endif
#endif
#if defined(FP_TEST_ASAN)
__global__ void overflow_kernel(int which, int index, float* out) {
  FP_SHARED(float, tile, 8);
  FP_DYNAMIC_SHARED(float, work);
  float* const p = which == 0 ? tile : work;
  __syncthreads();
  p[index] = 1.0f;
  *out = p[index];
}

TEST(AddressSanitizerDeathTest, SeesOneElementPastASharedArray) {
  float out = 0;
  launch(overflow_kernel, 1, 2, 32, {}, 0, 7, &out);  // the last element is fine
  launch(overflow_kernel, 1, 2, 32, {}, 1, 7, &out);
  EXPECT_DEATH(launch(overflow_kernel, 1, 2, 32, {}, 0, 8, &out), "0 bytes (after|to the right of) 32-byte region");
  EXPECT_DEATH(launch(overflow_kernel, 1, 2, 32, {}, 1, 8, &out), "0 bytes (after|to the right of) 32-byte region");
}
#endif

}  // namespace
}  // namespace flashproof::cpu
