// Stored numbers to doubles, exactly, with integer operations: a subnormal keeps its value whatever MXCSR says (formats.h
// does the same one by one). To be included from a file that foreach_target.h compiles once per target.
#if defined(FLASHPROOF_ORACLE_FP64_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHPROOF_ORACLE_FP64_DECODE_INL_H_
#undef FLASHPROOF_ORACLE_FP64_DECODE_INL_H_
#else
#define FLASHPROOF_ORACLE_FP64_DECODE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "reference/problem/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The unsigned integer that holds one element.
template <Format kFormat>
struct PatternOf {
  using Type = std::uint16_t;
};
template <>
struct PatternOf<Format::e4m3fn> {
  using Type = std::uint8_t;
};
template <>
struct PatternOf<Format::e5m2> {
  using Type = std::uint8_t;
};
template <>
struct PatternOf<Format::f32> {
  using Type = std::uint32_t;
};

/// Bit patterns of the format in the low bits of 64-bit lanes, to doubles. Signed lanes: AVX2 compares no unsigned ones.
template <Format kFormat, class D, class I>
HWY_INLINE hn::Vec<D> decode_patterns(D d, I patterns) {
  constexpr FormatInfo kInfo = info(kFormat);
  constexpr int kFraction = kInfo.precision - 1;
  constexpr int kWiden = detail::kDoubleFraction - kFraction;
  constexpr std::int64_t kSign = sign_bit(kFormat);
  constexpr std::int64_t kInfinity = max_finite_bits(kFormat) + 1;
  // What the exponent field of a normal number lacks, and what that of an infinity or NaN lacks on top of it.
  constexpr std::int64_t kRebias = static_cast<std::int64_t>(kInfo.min_exponent - 1 + detail::kDoubleBias)
                                   << detail::kDoubleFraction;
  // Without an infinity the first pattern behind the finite ones is NaN.
  constexpr std::int64_t kToInfinity = static_cast<std::int64_t>(detail::kDoubleInfinity) - kRebias -
                                       (kInfinity << kWiden) + (kInfo.has_infinity ? 0 : std::int64_t{1} << 51);
  const hn::RebindToSigned<D> di;

  const auto magnitude = hn::And(patterns, hn::Set(di, kSign - 1));
  const auto sign = hn::ShiftLeft<64 - kInfo.bits>(hn::Xor(patterns, magnitude));
  const auto infinite = hn::Gt(magnitude, hn::Set(di, kInfinity - 1));
  const auto rebias = hn::IfThenElse(infinite, hn::Set(di, kRebias + kToInfinity), hn::Set(di, kRebias));
  const auto normal = hn::Add(hn::ShiftLeft<kWiden>(magnitude), rebias);
  // Below the normal numbers the pattern is a number of quanta q: 2^52 + q has it in its fraction, the rest is exact.
  const auto shifted = hn::BitCast(d, hn::Or(magnitude, hn::Set(di, std::int64_t{0x433} << 52)));
  const auto subnormal = hn::Mul(hn::Sub(shifted, hn::Set(d, 0x1p52)), hn::Set(d, min_subnormal(kFormat)));
  const auto is_subnormal = hn::Lt(magnitude, hn::Set(di, std::int64_t{1} << kFraction));
  const auto value = hn::IfThenElse(is_subnormal, hn::BitCast(di, subnormal), normal);
  return hn::BitCast(d, hn::Or(value, sign));
}

/// Lanes(d) patterns from memory.
template <class D, class T>
HWY_INLINE auto load_patterns(D, const T* from) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint32_t, D> d32;
  if constexpr (sizeof(T) == 4) {
    return hn::BitCast(di, hn::PromoteTo(du, hn::LoadU(d32, from)));
  } else if constexpr (sizeof(T) == 1) {
    const hn::Rebind<std::uint8_t, D> d8;
    return hn::BitCast(di, hn::PromoteTo(du, hn::PromoteTo(d32, hn::LoadU(d8, from))));
  } else {
    const hn::Rebind<std::uint16_t, D> d16;
    return hn::BitCast(di, hn::PromoteTo(du, hn::PromoteTo(d32, hn::LoadU(d16, from))));
  }
}

/// n elements, `stride` apart, from element `offset` of the tensor, whose format is kFormat. Writes to[0 .. n).
template <Format kFormat>
HWY_INLINE void decode_run(const Tensor& tensor, std::int64_t offset, std::int64_t stride, std::int64_t n,
                           double* HWY_RESTRICT to) {
  using Pattern = typename PatternOf<kFormat>::Type;
  const hn::CappedTag<double, 8> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::byte* const from = tensor.storage.data() + offset * static_cast<std::int64_t>(sizeof(Pattern));
  std::int64_t j = 0;
  if (stride == 1) {
    for (; j + lanes <= n; j += lanes) {
      const auto* const at = reinterpret_cast<const Pattern*>(from) + j;
      hn::StoreU(decode_patterns<kFormat>(d, load_patterns(d, at)), d, to + j);
    }
  }
  while (j < n) {
    Pattern gathered[hn::MaxLanes(d)] = {};
    HWY_ALIGN double decoded[hn::MaxLanes(d)];
    const std::int64_t count = std::min(lanes, n - j);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = (j + i) * stride * static_cast<std::int64_t>(sizeof(Pattern));
      std::memcpy(&gathered[i], from + at, sizeof(Pattern));
    }
    hn::Store(decode_patterns<kFormat>(d, load_patterns(d, gathered)), d, decoded);
    std::copy(decoded, decoded + count, to + j);
    j += count;
  }
}

}  // namespace flashproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
