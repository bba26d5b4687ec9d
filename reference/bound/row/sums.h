// The passes over q and k that the bounds are made of.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace flashproof::bound {

/// Dense row-major matrix of finite or infinite doubles.
struct Matrix {
  const double* data;
  std::int64_t rows, cols;
};

/// Keys in the order in which vector code reads them, to be made once for many query rows.
class KeyTable {
 public:
  explicit KeyTable(const Matrix& k);

  std::int64_t rows() const { return k_.rows; }
  std::int64_t cols() const { return k_.cols; }

 private:
  friend void dots(const Matrix& q, const KeyTable& k, double* dot, double* size);

  Matrix k_;
  std::unique_ptr<double, void (*)(void*)> panels_;  // [rows/16][cols][16], then the same of |k| in f32, scaled
  const float* sizes_ = nullptr;
  std::vector<double> unscale_;  // per key: the power of two that undoes the scale; 0 for a key of zeros, NaN for one
                                 // that is not finite
};

/// dot[r · k.rows + j] = Σ_c q[r, c] k[j, c], in double: |error| <= (cols + 2) 2^-53 Σ_c |q k|. Products must be exact
/// in double (both factors from formats of at most 26 bits). size[...] is Σ_c |q k| from above, by at most
/// (cols + 16) 2^-22 of it. What is infinite or NaN in one is so in the other's sense: as the sum of the products is.
/// `k` holds no copy of the matrix it was made of: that must live as long.
void dots(const Matrix& q, const KeyTable& k, double* dot, double* size);
void dots(const Matrix& q, const Matrix& k, double* dot, double* size);

}  // namespace flashproof::bound
