// What others would use instead of the oracle, for the benchmark: the same attention head without any radius.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof::peers {

/// Row-major (rows, columns).
struct Matrix {
  std::int64_t rows, columns;
  std::vector<double> at;
};
/// Head (b, h) of a tensor (B, H, rows, columns), decoded. The peers are not charged for this.
Matrix decoded(const Tensor& tensor, std::int64_t b, std::int64_t h);

/// exp of n doubles in place by Highway's contrib/math, the fastest of the vector exponentials measured (no error bound).
void vector_exp(double* x, std::int64_t n);
/// In place, by the C library.
void libm_exp(double* x, std::int64_t n);

/// OpenBLAS, loaded at run time on one thread with its core type forced to this CPU's: Debian's does not know recent CPUs
/// and falls back to SSE3 kernels, 5 times slower.
class OpenBlas {
 public:
  /// Nothing if the library is not installed.
  static std::optional<OpenBlas> load();
  std::string core() const;
  /// c = alpha·a·b (or a·bᵀ), row-major.
  void dgemm(bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
             std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) const;

 private:
  using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                         int);
  Dgemm dgemm_ = nullptr;
  const char* (*core_)() = nullptr;
};

/// softmax(scale·q·kᵀ)·v and lse in doubles, 64 rows at a time: two products, the maximum, exp, the sum, the division.
struct HeadResult {
  Matrix o;
  std::vector<double> lse;
};
HeadResult blas_head(const OpenBlas& blas, double scale, const Matrix& q, const Matrix& k, const Matrix& v);

/// The first `rows` rows in 256-bit MPFR through Boost.Multiprecision (77 digits, on the stack, no expression templates),
/// straight from the definition. Returns a checksum, so that nothing is optimised away.
double mpfr_rows(double scale, const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t rows);
/// Weights of one row of scores, likewise.
double mpfr_softmax(const double* x, std::int64_t n);

}  // namespace flashproof::peers
