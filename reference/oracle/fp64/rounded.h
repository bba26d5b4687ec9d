// One IEEE operation per call, rounded to nearest, on the host and in CUDA device code. nvcc contracts a·b + c into an
// FMA unless told not to; the intrinsics are never contracted, so host and device compute the same bits.
#pragma once

#include <cmath>

#ifdef __FAST_MATH__
#error "the oracle must not be built with -ffast-math: its error bounds assume IEEE 754 arithmetic"
#endif

#ifdef __CUDACC__
#define FLASHPROOF_HOST_DEVICE __host__ __device__
#else
#define FLASHPROOF_HOST_DEVICE
#endif

namespace flashproof {

/// a·b + c, rounded once.
FLASHPROOF_HOST_DEVICE inline double rounded_fma(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

FLASHPROOF_HOST_DEVICE inline double rounded_add(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

FLASHPROOF_HOST_DEVICE inline double rounded_subtract(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dsub_rn(a, b);
#else
  return a - b;
#endif
}

FLASHPROOF_HOST_DEVICE inline double rounded_multiply(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

FLASHPROOF_HOST_DEVICE inline double rounded_divide(double a, double b) {
#ifdef __CUDA_ARCH__
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}

}  // namespace flashproof
