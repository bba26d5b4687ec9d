// The passes over q, k and v that the bounds are made of; everything else is O(keys) per row.
#pragma once

#include <cstdint>

namespace flashproof::bound {

/// Dense row-major matrix of finite or infinite doubles.
struct Matrix {
  const double* data;
  std::int64_t rows, cols;
};

/// dot[r · k.rows + j] = Σ_c q[r, c] k[j, c] and size[...] = Σ_c |q[r, c] k[j, c]|, both evaluated in double:
/// |error| <= (cols + 2) 2^-53 · size. Products must be exact in double (both factors from formats of at most 26 bits).
void dots(const Matrix& q, const Matrix& k, double* dot, double* size);

}  // namespace flashproof::bound
