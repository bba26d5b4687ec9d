// Sums over the keys for 16 columns at a time, up to four rows together. Every column is a chain of its own in the order of
// the keys, so all targets compute the same bits. To be included from a file that foreach_target.h compiles once per target.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "reference/bound/vector/column_pass.h"
#include "reference/bound/vector/kernels.h"
#include "reference/bound/vector/value_table.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::bound::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using FloatVec = hn::Vec<Floats>;
inline constexpr float kLargestFloat = std::numeric_limits<float>::max();
inline constexpr std::int64_t kFloatLanes = static_cast<std::int64_t>(hn::MaxLanes(Floats()));
/// Vectors of columns and rows at a time: three sums of each, and the registers hold 32 or 16.
inline constexpr int kWide = HWY_TARGET == HWY_AVX2 ? 1 : 2;
inline constexpr int kRowsAtOnce = HWY_TARGET == HWY_AVX2 ? 2 : 4;

using Wide = hn::CappedTag<double, 8>;
using Narrow = hn::Rebind<float, Wide>;
inline constexpr std::int64_t kHalf = kFloatLanes / 2;

/// to[lane] += x[lane] / 2^100.
HWY_INLINE void add_scaled(FloatVec x, double* to) {
  const Wide d;
  const auto unscale = hn::Set(d, 1 / kEntryScale);
  const auto low = hn::PromoteTo(d, hn::LowerHalf(Narrow(), x));
  const auto high = hn::PromoteTo(d, hn::UpperHalf(Narrow(), x));
  hn::StoreU(hn::MulAdd(low, unscale, hn::LoadU(d, to)), d, to);
  hn::StoreU(hn::MulAdd(high, unscale, hn::LoadU(d, to + kHalf)), d, to + kHalf);
}

HWY_INLINE void store_wide(FloatVec x, double* to) {
  const Wide d;
  hn::StoreU(hn::PromoteTo(d, hn::LowerHalf(Narrow(), x)), d, to);
  hn::StoreU(hn::PromoteTo(d, hn::UpperHalf(Narrow(), x)), d, to + kHalf);
}

/// Places of `kCount` neighbouring vectors of columns.
template <int kCount>
struct Columns {
  const float* v[kCount];
  const float* lowest[kCount];
  const float* highest[kCount];
  const float* group_lowest[kCount];
  const float* group_highest[kCount];
  std::int64_t at[kCount];  // in the sums

  HWY_INLINE Columns(const PassValues& values, std::int64_t first) {
    for (int i = 0; i < kCount; ++i) {
      at[i] = (first + i) * kFloatLanes;
      const std::int64_t panel = at[i] / kPanel;
      v[i] = values.v + panel * values.panel_floats + at[i] % kPanel;
      lowest[i] = values.lowest + panel * values.block_floats + at[i] % kPanel;
      highest[i] = values.highest + panel * values.block_floats + at[i] % kPanel;
      group_lowest[i] = values.group_lowest + panel * values.block_floats / kBlocks + at[i] % kPanel;
      group_highest[i] = values.group_highest + panel * values.block_floats / kBlocks + at[i] % kPanel;
    }
  }
};

/// Σ p v, Σ p|v| and the numerator's sum. By lines, T = Σ of the prefix sums S of p|v| is Σ (16 − i) p|v|: an addition per
/// key instead of a third FMA.
template <bool kLines, int kRows, int kCount>
HWY_INLINE void first_sums(const PassRow* rows, const Columns<kCount>& columns, std::int64_t begin, std::int64_t end) {
  const Floats d;
  FloatVec o[kRows][kCount], size[kRows][kCount], numerator[kRows][kCount];
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kCount; ++i) o[r][i] = size[r][i] = numerator[r][i] = hn::Zero(d);
  }
  for (std::int64_t line = begin; line < end; line += kLineKeys) {
    FloatVec s[kRows][kCount], t[kRows][kCount];
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < kCount; ++i) {
        s[r][i] = kLines ? hn::Zero(d) : size[r][i];
        t[r][i] = kLines ? hn::Zero(d) : numerator[r][i];
      }
    }
    for (std::int64_t j = line; j < line + kLineKeys; ++j) {
      FloatVec v[kCount], absolute[kCount];
      for (int i = 0; i < kCount; ++i) {
        v[i] = hn::Load(d, columns.v[i] + j * kPanel);
        absolute[i] = hn::Abs(v[i]);
      }
      for (int r = 0; r < kRows; ++r) {
        const auto p = hn::Set(d, rows[r].p[j]);
        for (int i = 0; i < kCount; ++i) {
          o[r][i] = hn::MulAdd(p, v[i], o[r][i]);
          s[r][i] = hn::MulAdd(p, absolute[i], s[r][i]);
          if constexpr (kLines) t[r][i] = hn::Add(t[r][i], s[r][i]);
        }
        if constexpr (!kLines) {
          const auto a = hn::Set(d, rows[r].numerator[j]);
          for (int i = 0; i < kCount; ++i) t[r][i] = hn::MulAdd(a, absolute[i], t[r][i]);
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < kCount; ++i) {
        if constexpr (kLines) {
          size[r][i] = hn::Add(size[r][i], s[r][i]);
          numerator[r][i] = hn::MulAdd(hn::Set(d, rows[r].slope[line / kLineKeys]), t[r][i], numerator[r][i]);
          numerator[r][i] = hn::MulAdd(hn::Set(d, rows[r].base[line / kLineKeys]), s[r][i], numerator[r][i]);
        } else {
          size[r][i] = s[r][i];
          numerator[r][i] = t[r][i];
        }
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kCount; ++i) {
      add_scaled(o[r][i], rows[r].sums[kO] + columns.at[i]);
      add_scaled(size[r][i], rows[r].sums[kSize] + columns.at[i]);
      add_scaled(numerator[r][i], rows[r].sums[kNumerator] + columns.at[i]);
    }
  }
}

/// Σ q |v − o|.
template <int kRows, int kCount>
HWY_INLINE void shifted_sums(const PassRow* rows, const FloatVec (&o)[kRows][kCount], const Columns<kCount>& columns,
                             std::int64_t begin, std::int64_t end) {
  const Floats d;
  FloatVec shifted[kRows][kCount];
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kCount; ++i) shifted[r][i] = hn::Zero(d);
  }
  for (std::int64_t j = begin; j < end; ++j) {
    FloatVec v[kCount];
    for (int i = 0; i < kCount; ++i) v[i] = hn::Load(d, columns.v[i] + j * kPanel);
    for (int r = 0; r < kRows; ++r) {
      const auto q = hn::Set(d, rows[r].q[j]);
      for (int i = 0; i < kCount; ++i) {
        shifted[r][i] = hn::MulAdd(q, hn::Abs(hn::Sub(v[i], o[r][i])), shifted[r][i]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kCount; ++i) add_scaled(shifted[r][i], rows[r].sums[kShifted] + columns.at[i]);
  }
}

/// The least and largest visible value of block b of group g; false if none is visible.
HWY_INLINE bool visible_extremes(const PassRow& row, const float* v, std::int64_t g, std::int64_t b, FloatVec& low,
                                 FloatVec& high) {
  const Floats d;
  low = hn::Set(d, kLargestFloat);
  high = hn::Set(d, -kLargestFloat);
  bool any = false;
  for (std::int64_t j = g * kGroupKeys + b; j < (g + 1) * kGroupKeys; j += kBlocks) {
    if (row.visible[j] == 0) continue;
    any = true;
    const auto x = hn::Load(d, v + j * kPanel);
    low = hn::Min(low, x);
    high = hn::Max(high, x);
  }
  return any;
}

template <int kCount>
HWY_INLINE void extremes(const PassRow& row, const Columns<kCount>& columns, std::int64_t groups) {
  const Floats d;
  for (int i = 0; i < kCount; ++i) {
    auto low = row.sees_zero ? hn::Zero(d) : hn::Set(d, kLargestFloat);
    auto high = row.sees_zero ? hn::Zero(d) : hn::Set(d, -kLargestFloat);
    for (std::int64_t g = 0; g < groups; ++g) {
      if (row.full[g]) {
        low = hn::Min(low, hn::Load(d, columns.group_lowest[i] + g * kPanel));
        high = hn::Max(high, hn::Load(d, columns.group_highest[i] + g * kPanel));
        continue;
      }
      for (std::int64_t b = 0; b < kBlocks; ++b) {
        FloatVec block_low, block_high;
        visible_extremes(row, columns.v[i], g, b, block_low, block_high);
        low = hn::Min(low, block_low);
        high = hn::Max(high, block_high);
      }
    }
    store_wide(low, row.sums[kLowest] + columns.at[i]);
    store_wide(high, row.sums[kHighest] + columns.at[i]);
  }
}

/// The squares of the chance model, block by block: the largest |v − o| and |v| of a block stand for those of its keys.
template <bool kNumeratorToo, int kCount>
HWY_INLINE void block_sums(const PassRow& row, const FloatVec (&o)[kCount], const Columns<kCount>& columns,
                           std::int64_t groups) {
  const Floats d;
  HWY_ALIGN float partly[kCount][2][kBlocks * kPanel];  // the extremes in a group that is not all visible
  FloatVec own[kCount], numerator[kCount];
  for (int i = 0; i < kCount; ++i) own[i] = numerator[i] = hn::Zero(d);
  for (std::int64_t g = 0; g < groups; ++g) {
    const float* lowest[kCount];
    const float* highest[kCount];
    for (int i = 0; i < kCount; ++i) {
      lowest[i] = columns.lowest[i] + g * kBlocks * kPanel;
      highest[i] = columns.highest[i] + g * kBlocks * kPanel;
      if (row.full[g]) continue;
      for (std::int64_t b = 0; b < kBlocks; ++b) {
        FloatVec low, high;
        const bool any = visible_extremes(row, columns.v[i], g, b, low, high);
        hn::Store(any ? low : o[i], d, partly[i][0] + b * kPanel);  // without a key its entries are 0
        hn::Store(any ? high : o[i], d, partly[i][1] + b * kPanel);
      }
      lowest[i] = partly[i][0];
      highest[i] = partly[i][1];
    }
    for (std::int64_t b = 0; b < kBlocks; ++b) {
      const auto w = hn::Set(d, row.own_square[g * kBlocks + b]);
      for (int i = 0; i < kCount; ++i) {
        const auto low = hn::Load(d, lowest[i] + b * kPanel);
        const auto high = hn::Load(d, highest[i] + b * kPanel);
        const auto distance = hn::Max(hn::Sub(high, o[i]), hn::Sub(o[i], low));
        own[i] = hn::MulAdd(w, hn::Mul(distance, distance), own[i]);
        if constexpr (kNumeratorToo) {
          const auto size = hn::Max(hn::Abs(low), hn::Abs(high));
          const auto n = hn::Set(d, row.numerator_square[g * kBlocks + b]);
          numerator[i] = hn::MulAdd(n, hn::Mul(size, size), numerator[i]);
        }
      }
    }
    if ((g + 1) * kBlocks % kChainKeys == 0 || g + 1 == groups) {
      for (int i = 0; i < kCount; ++i) {
        add_scaled(own[i], row.sums[kOwnSquare] + columns.at[i]);
        if constexpr (kNumeratorToo) add_scaled(numerator[i], row.sums[kNumeratorSquare] + columns.at[i]);
        own[i] = numerator[i] = hn::Zero(d);
      }
    }
  }
}

/// Σ p v, rounded, in place of itself. It lies between the extremes, and so does what stands for it from here on.
HWY_INLINE FloatVec settle_mean(const PassRow& row, std::int64_t at) {
  const Wide d;
  const auto half = [&](std::int64_t first) HWY_ATTR {
    const auto sum = hn::LoadU(d, row.sums[kO] + first);
    const auto clamped =
        hn::Max(hn::Min(sum, hn::LoadU(d, row.sums[kHighest] + first)), hn::LoadU(d, row.sums[kLowest] + first));
    const auto rounded = hn::DemoteTo(Narrow(), clamped);
    hn::StoreU(hn::PromoteTo(d, rounded), d, row.sums[kO] + first);
    return rounded;
  };
  const auto low = half(at);
  return hn::Combine(Floats(), half(at + kHalf), low);
}

template <bool kLines, int kRows, int kCount>
HWY_INLINE void sum_some_columns(const PassRow* rows, const PassValues& values, std::int64_t first) {
  const Columns<kCount> columns(values, first);
  const std::int64_t keys = values.groups * kGroupKeys;
  for (int r = 0; r < kRows; ++r) extremes(rows[r], columns, values.groups);
  for (std::int64_t j = 0; j < keys; j += kChainKeys) {
    first_sums<kLines, kRows>(rows, columns, j, std::min(j + kChainKeys, keys));
  }
  FloatVec o[kRows][kCount];
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kCount; ++i) o[r][i] = settle_mean(rows[r], columns.at[i]);
  }
  for (std::int64_t j = 0; j < keys; j += kChainKeys) {
    shifted_sums<kRows>(rows, o, columns, j, std::min(j + kChainKeys, keys));
  }
  for (int r = 0; r < kRows; ++r) {
    rows[r].numerator_square == nullptr ? block_sums<false>(rows[r], o[r], columns, values.groups)
                                        : block_sums<true>(rows[r], o[r], columns, values.groups);
  }
}

template <bool kLines, int kRows>
HWY_INLINE void sum_columns_of(const PassRow* rows, const PassValues& values) {
  const std::int64_t vectors = values.panels * kPanel / kFloatLanes;
  std::int64_t i = 0;
  for (; i + kWide <= vectors; i += kWide) sum_some_columns<kLines, kRows, kWide>(rows, values, i);
  for (; i < vectors; ++i) sum_some_columns<kLines, kRows, 1>(rows, values, i);
}

template <bool kLines>
HWY_INLINE void sum_all_columns(const PassRow* rows, std::int64_t count, const PassValues& values) {
  std::int64_t r = 0;
  for (; r + kRowsAtOnce <= count; r += kRowsAtOnce) sum_columns_of<kLines, kRowsAtOnce>(rows + r, values);
  for (; r < count; ++r) sum_columns_of<kLines, 1>(rows + r, values);
}

inline void sum_columns(const PassRow* rows, std::int64_t count, const PassValues& values) {
  rows[0].numerator == nullptr ? sum_all_columns<true>(rows, count, values)
                               : sum_all_columns<false>(rows, count, values);
}

}  // namespace flashproof::bound::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
