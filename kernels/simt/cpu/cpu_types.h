// CUDA's keywords, vector types and built-in variables for the CPU executor. At global scope, as in CUDA, so that a
// kernel finds them from any namespace.
#pragma once

// The namespace of kernels and of what they are made of (simt.h): for kernels compiled a second time, with every load and
// store seen by the race shadow (shadow.h), another one, so that the two may live in one program. A test may choose its
// own.
#if !defined(FP_EXECUTOR)
#if defined(FP_RACE)
#define FP_EXECUTOR cpu_race
#else
#define FP_EXECUTOR cpu
#endif
#endif

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define FP_NOINLINE __attribute__((noinline))
#define FP_GRID_CONSTANT

// Comparing bits with the GPU needs IEEE arithmetic; -ffp-contract=off comes with the CMake target flashproof_float.
#if defined(__FAST_MATH__)
#error "kernels cannot be built with -ffast-math"
#endif

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
};

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// Set by the executor at every switch. Not const: a compiler may assume that a const object never changes.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;
