#include "reference/bound/sums.h"

#include <cmath>

namespace flashproof::bound {

void dots(const Matrix& q, const Matrix& k, double* dot, double* size) {
  for (std::int64_t r = 0; r < q.rows; ++r) {
    for (std::int64_t j = 0; j < k.rows; ++j) {
      double sum = 0;
      double absolute = 0;
      for (std::int64_t c = 0; c < q.cols; ++c) {
        const double product = q.data[r * q.cols + c] * k.data[j * k.cols + c];
        sum += product;
        absolute += std::fabs(product);
      }
      dot[r * k.rows + j] = sum;
      size[r * k.rows + j] = absolute;
    }
  }
}

}  // namespace flashproof::bound
