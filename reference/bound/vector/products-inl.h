// Dot products and their sizes, panel by panel, with the tiles of the oracle. To be included from a file that
// foreach_target.h compiles once per target.

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "reference/bound/vector/kernels.h"
#include "reference/oracle/fp64/vector/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::bound::kernels::HWY_NAMESPACE {

inline void products(const double* q, const float* q_size, std::int64_t rows, const double* k, const float* k_size,
                     std::int64_t keys, std::int64_t d, double* dot, float* size, std::int64_t pitch) {
  namespace tile = flashproof::attention64::HWY_NAMESPACE;
  using flashproof::attention64::kGroup;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::fill(dot + r * pitch, dot + (r + 1) * pitch, 0.0);
    std::fill(size + r * pitch, size + (r + 1) * pitch, 0.0F);
  }
  for (std::int64_t j = 0; j < keys; j += 2 * kPanel) {
    for (std::int64_t r = 0; r < rows; r += kGroup) {
      for (const std::int64_t at : {j, j + kPanel}) {
        tile::double_tile(q + r * d, d, k + at * d, d, dot + r * pitch + at, pitch);
      }
      tile::float_tile(q_size + r * d, d, k_size + j * d, kPanel * d, true, d, size + r * pitch + j, pitch);
    }
  }
}

}  // namespace flashproof::bound::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
