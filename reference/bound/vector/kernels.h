// The vector code of the bounds (kernels.cc), chosen at run time; every target computes the same bits. Only to be called
// where supported() holds.
#pragma once

#include <cstdint>

namespace flashproof::bound::kernels {

inline constexpr std::int64_t kPanel = 16;

/// AVX2 and FMA, or AVX-512.
bool supported();

/// dot[r][j] = Σ_c q[r][c] k[j][c] in double and size[r][j] the same of the f32 matrices, one chain of FMAs each. q has
/// `rows` rows (a multiple of 8, at most 32) of d numbers, k panels of [d][16] (for an even number of panels), the
/// results rows of `pitch`.
void products(const double* q, const float* q_size, std::int64_t rows, const double* k, const float* k_size,
              std::int64_t keys, std::int64_t d, double* dot, float* size, std::int64_t pitch);

}  // namespace flashproof::bound::kernels
