// The matrix products: c[row][column] += Σ_l a[row][l]·b[l][column], kTerms products per accumulator. Each element is
// one chain of FMAs in the order of l whatever the shape of the tile, so every target computes the same bits. To be
// included from a file that foreach_target.h compiles once per target.

#include <cstdint>

#include "hwy/highway.h"
#include "reference/oracle/fp64/head_chunk.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::attention64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// AVX-512 has the registers for eight rows by two vectors, AVX2 for four.
inline constexpr std::int64_t kTileRows = HWY_TARGET == HWY_AVX2 ? 4 : 8;

// Written out, because not every compiler keeps an array of vectors in registers.
#define FLASHPROOF_EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#define FLASHPROOF_EACH_ROW_OF_8(DO) DO(4) DO(5) DO(6) DO(7)

/// kTileRows rows by two vectors: columns [0, lanes) from b0, the next from b1, rows of b `b_stride` apart.
template <class D, class T>
HWY_INLINE void tile_step(D d, const T* HWY_RESTRICT a, std::int64_t a_stride, const T* HWY_RESTRICT b0,
                          const T* HWY_RESTRICT b1, std::int64_t depth, T* HWY_RESTRICT c0, T* HWY_RESTRICT c1,
                          std::int64_t c_stride) {
#define FLASHPROOF_ZERO(r) auto s##r = hn::Zero(d), t##r = hn::Zero(d);
#define FLASHPROOF_STEP(r)                            \
  {                                                   \
    const auto x = hn::Set(d, a[(r) * a_stride + l]); \
    s##r = hn::MulAdd(x, y0, s##r);                   \
    t##r = hn::MulAdd(x, y1, t##r);                   \
  }
#define FLASHPROOF_STORE(r)                                                           \
  hn::Store(hn::Add(hn::Load(d, c0 + (r) * c_stride), s##r), d, c0 + (r) * c_stride); \
  hn::Store(hn::Add(hn::Load(d, c1 + (r) * c_stride), t##r), d, c1 + (r) * c_stride);
  FLASHPROOF_EACH_ROW(FLASHPROOF_ZERO)
#if HWY_TARGET != HWY_AVX2
  FLASHPROOF_EACH_ROW_OF_8(FLASHPROOF_ZERO)
#endif
  for (std::int64_t l = 0; l < depth; ++l) {
    const auto y0 = hn::Load(d, b0 + l * kPanel);
    const auto y1 = hn::Load(d, b1 + l * kPanel);
    FLASHPROOF_EACH_ROW(FLASHPROOF_STEP)
#if HWY_TARGET != HWY_AVX2
    FLASHPROOF_EACH_ROW_OF_8(FLASHPROOF_STEP)
#endif
  }
  FLASHPROOF_EACH_ROW(FLASHPROOF_STORE)
#if HWY_TARGET != HWY_AVX2
  FLASHPROOF_EACH_ROW_OF_8(FLASHPROOF_STORE)
#endif
#undef FLASHPROOF_ZERO
#undef FLASHPROOF_STEP
#undef FLASHPROOF_STORE
}

/// kGroup rows by one panel of 16 columns of doubles, `depth` products.
HWY_INLINE void double_tile(const double* a, std::int64_t a_stride, const double* b, std::int64_t depth, double* c,
                            std::int64_t c_stride) {
  const hn::CappedTag<double, 8> d;
  constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(decltype(d)()));
  for (std::int64_t r = 0; r < kGroup; r += kTileRows) {
    for (std::int64_t j = 0; j < kPanel; j += 2 * kStep) {
      tile_step(d, a + r * a_stride, a_stride, b + j, b + j + kStep, depth, c + r * c_stride + j,
                c + r * c_stride + j + kStep, c_stride);
    }
  }
}

/// kGroup rows by one or two panels of 16 columns of floats; the panels are b_panel apart.
HWY_INLINE void float_tile(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_panel, bool two,
                           std::int64_t depth, float* c, std::int64_t c_stride) {
  const hn::CappedTag<float, 16> d;
  constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(decltype(d)()));
  for (std::int64_t r = 0; r < kGroup; r += kTileRows) {
    const float* const rows = a + r * a_stride;
    float* const to = c + r * c_stride;
    if constexpr (kStep == kPanel) {  // one vector per panel
      if (two) {
        tile_step(d, rows, a_stride, b, b + b_panel, depth, to, to + kPanel, c_stride);
      } else {  // twice the same panel, the second time into nowhere: rare and small
        HWY_ALIGN float nowhere[kGroup * kPanel] = {};
        for (std::int64_t i = 0; i < kTileRows; ++i) {
          hn::Store(hn::Load(d, to + i * c_stride), d, nowhere + i * kPanel);
        }
        HWY_ALIGN float other[kGroup * kPanel] = {};
        tile_step(d, rows, a_stride, b, b, depth, nowhere, other, kPanel);
        for (std::int64_t i = 0; i < kTileRows; ++i) {
          hn::Store(hn::Load(d, nowhere + i * kPanel), d, to + i * c_stride);
        }
      }
    } else {
      for (std::int64_t panel = 0; panel < (two ? 2 : 1); ++panel) {
        const float* const columns = b + panel * b_panel;
        float* const at = to + panel * kPanel;
        tile_step(d, rows, a_stride, columns, columns + kStep, depth, at, at + kStep, c_stride);
      }
    }
  }
}

#undef FLASHPROOF_EACH_ROW
#undef FLASHPROOF_EACH_ROW_OF_8

}  // namespace flashproof::attention64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
