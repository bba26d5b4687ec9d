#include "reference/oracle/peers/peers.h"

#include <dlfcn.h>

#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdlib>

namespace flashproof::peers {
namespace {

namespace mp = boost::multiprecision;
using Mpfr256 = mp::number<mp::mpfr_float_backend<77, mp::allocate_stack>, mp::et_off>;

constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;  // the values of cblas.h

}  // namespace

Matrix decoded(const Tensor& tensor, std::int64_t b, std::int64_t h) {
  Matrix matrix{tensor.shape[2], tensor.shape[3], {}};
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t c = 0; c < matrix.columns; ++c) matrix.at.push_back(tensor.at({b, h, i, c}));
  }
  return matrix;
}

void libm_exp(double* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::exp(x[i]);
}

std::optional<OpenBlas> OpenBlas::load() {
  // Both are read when the library is loaded.
  setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512f") != 0 ? "SkylakeX" : "Haswell", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  OpenBlas blas;
  blas.dgemm_ = reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm"));
  blas.core_ = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_corename"));
  if (blas.dgemm_ == nullptr || blas.core_ == nullptr) return std::nullopt;
  return blas;
}

std::string OpenBlas::core() const { return core_(); }

void OpenBlas::dgemm(bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
                     std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) const {
  dgemm_(kRowMajor, kNoTranspose, transpose_b ? kTranspose : kNoTranspose, static_cast<int>(m), static_cast<int>(n),
         static_cast<int>(k), alpha, a, static_cast<int>(lda), b, static_cast<int>(ldb), 0.0, c, static_cast<int>(ldc));
}

HeadResult blas_head(const OpenBlas& blas, double scale, const Matrix& q, const Matrix& k, const Matrix& v) {
  constexpr std::int64_t kRows = 64;
  HeadResult result{{q.rows, v.columns, std::vector<double>(q.rows * v.columns)}, std::vector<double>(q.rows)};
  std::vector<double> scores(kRows * k.rows);
  for (std::int64_t first = 0; first < q.rows; first += kRows) {
    const std::int64_t rows = std::min(kRows, q.rows - first);
    blas.dgemm(true, rows, k.rows, q.columns, scale, q.at.data() + first * q.columns, q.columns, k.at.data(), k.columns,
               scores.data(), k.rows);
    double total[kRows];
    for (std::int64_t i = 0; i < rows; ++i) {
      double* const row = scores.data() + i * k.rows;
      double lane[8];
      std::fill(lane, lane + 8, row[0]);
      for (std::int64_t j = 0; j + 8 <= k.rows; j += 8) {
        for (int l = 0; l < 8; ++l) lane[l] = std::max(lane[l], row[j + l]);
      }
      for (std::int64_t j = k.rows / 8 * 8; j < k.rows; ++j) lane[0] = std::max(lane[0], row[j]);
      const double maximum = *std::max_element(lane, lane + 8);
      for (std::int64_t j = 0; j < k.rows; ++j) row[j] -= maximum;
      vector_exp(row, k.rows);
      std::fill(lane, lane + 8, 0.0);
      for (std::int64_t j = 0; j + 8 <= k.rows; j += 8) {
        for (int l = 0; l < 8; ++l) lane[l] += row[j + l];
      }
      for (std::int64_t j = k.rows / 8 * 8; j < k.rows; ++j) lane[0] += row[j];
      total[i] = 0.0;
      for (const double x : lane) total[i] += x;
      result.lse[first + i] = maximum + std::log(total[i]);
    }
    double* const o = result.o.at.data() + first * v.columns;
    blas.dgemm(false, rows, v.columns, k.rows, 1.0, scores.data(), k.rows, v.at.data(), v.columns, o, v.columns);
    for (std::int64_t i = 0; i < rows; ++i) {
      const double reciprocal = 1.0 / total[i];
      for (std::int64_t c = 0; c < v.columns; ++c) o[i * v.columns + c] *= reciprocal;
    }
  }
  return result;
}

double mpfr_rows(double scale, const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t rows) {
  double checksum = 0.0;
  std::vector<Mpfr256> weight(k.rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    Mpfr256 maximum;
    for (std::int64_t j = 0; j < k.rows; ++j) {
      Mpfr256 dot = 0;
      for (std::int64_t c = 0; c < q.columns; ++c) {
        dot += Mpfr256(q.at[i * q.columns + c]) * Mpfr256(k.at[j * k.columns + c]);
      }
      weight[j] = scale * dot;
      if (j == 0 || weight[j] > maximum) maximum = weight[j];
    }
    Mpfr256 total = 0;
    for (Mpfr256& w : weight) {
      w = exp(Mpfr256(w - maximum));
      total += w;
    }
    for (std::int64_t c = 0; c < v.columns; ++c) {
      Mpfr256 sum = 0;
      for (std::int64_t j = 0; j < k.rows; ++j) sum += weight[j] * Mpfr256(v.at[j * v.columns + c]);
      checksum += (sum / total).convert_to<double>();
    }
  }
  return checksum;
}

double mpfr_softmax(const double* x, std::int64_t n) {
  const Mpfr256 maximum = *std::max_element(x, x + n);
  std::vector<Mpfr256> weight(n);
  Mpfr256 total = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    weight[j] = exp(Mpfr256(Mpfr256(x[j]) - maximum));
    total += weight[j];
  }
  double checksum = 0.0;
  for (const Mpfr256& w : weight) checksum += (w / total).convert_to<double>();
  return checksum;
}

}  // namespace flashproof::peers
