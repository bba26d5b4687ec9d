// The PTX instructions of the special-function unit as sm_90 carries them out: bits in, bits out. Those with .ftz are the
// unit itself. The others scale subnormal arguments and results by powers of two round it, in f32 operations that round
// to nearest; ptxas emits them, and the device check compares them like all others. The 16-bit forms widen their argument
// exactly and cut the unit's result toward zero.
#pragma once

#include <bit>
#include <string_view>

#include "kernels/special_functions/units.h"

namespace flashproof::special {

namespace detail {

// One rounding to nearest, subnormals kept, NaN as a GPU makes it.
#if defined(__CUDA_ARCH__)
FP_BOTH inline std::uint32_t multiply(std::uint32_t x, std::uint32_t y) {
  return __float_as_uint(__fmul_rn(__uint_as_float(x), __uint_as_float(y)));
}
FP_BOTH inline std::uint32_t add(std::uint32_t x, std::uint32_t y) {
  return __float_as_uint(__fadd_rn(__uint_as_float(x), __uint_as_float(y)));
}
#else
inline std::uint32_t canonical(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return is_nan(bits) ? kNan : bits;
}
inline std::uint32_t multiply(std::uint32_t x, std::uint32_t y) {
  return canonical(std::bit_cast<float>(x) * std::bit_cast<float>(y));
}
inline std::uint32_t add(std::uint32_t x, std::uint32_t y) {
  return canonical(std::bit_cast<float>(x) + std::bit_cast<float>(y));
}
#endif

inline constexpr std::uint32_t kTwo24 = 0x4b800000, kTwo12 = 0x45800000, kTwoMinus12 = 0x39800000;
inline constexpr std::uint32_t kQuarter = 0x3e800000, kHalf = 0x3f000000, kMinus24 = 0xc1c00000;

FP_BOTH inline bool below_normal(std::uint32_t x) { return (x & ~kSign) < kHidden; }

FP_BOTH inline std::uint32_t widen_f16(std::uint32_t h) {
  const std::uint32_t sign = (h & 0x8000U) << 16, m = h & 0x3ffU;
  const std::uint32_t e = h >> 10 & 31U;
  if (e == 31) return sign | kInfinity | m << 13;
  if (e != 0) return sign | (e + 112) << 23 | m << 13;
  return m == 0 ? sign : sign | normalise(m, 24);
}

/// Cut toward zero; what is 2^16 or more becomes infinity.
FP_BOTH inline std::uint16_t cut_to_f16(std::uint32_t x) {
  const std::uint32_t sign = x >> 16 & 0x8000U, m = (x & kFraction) | kHidden;
  const int e = biased_exponent(x) - 127;
  if (is_nan(x)) return 0x7fff;
  if (e > 15) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (e < -24) return static_cast<std::uint16_t>(sign);
  if (e < -14) return static_cast<std::uint16_t>(sign | m >> (-1 - e));
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(e + 15) << 10 | (m >> 13 & 0x3ffU));
}

FP_BOTH inline std::uint16_t cut_to_bf16(std::uint32_t x) {
  return is_nan(x) ? std::uint16_t{0x7fff} : static_cast<std::uint16_t>(x >> 16);
}

}  // namespace detail

FP_BOTH inline std::uint32_t rcp(const Tables& t, std::uint32_t x) {
  const std::uint32_t size = x & ~kSign;
  const bool large = size > 0x7e800000U && size <= kInfinity;
  const std::uint32_t scale = size < kHidden ? detail::kTwo24 : large ? detail::kQuarter : kOne;
  return detail::multiply(unit_rcp(t, detail::multiply(x, scale)), scale);
}

FP_BOTH inline std::uint32_t rsqrt(const Tables& t, std::uint32_t x) {
  if (!detail::below_normal(x)) return unit_rsqrt(t, x);
  return detail::multiply(unit_rsqrt(t, detail::multiply(x, detail::kTwo24)), detail::kTwo12);
}

FP_BOTH inline std::uint32_t sqrt(const Tables& t, std::uint32_t x) {
  if (!detail::below_normal(x)) return unit_sqrt(t, x);
  return detail::multiply(unit_sqrt(t, detail::multiply(x, detail::kTwo24)), detail::kTwoMinus12);
}

/// Below −126 it is the square of 2^(x/2).
FP_BOTH inline std::uint32_t ex2(const Tables& t, std::uint32_t x) {
  if ((x & kSign) == 0 || (x & ~kSign) <= 0x42fc0000U || is_nan(x)) return unit_ex2(t, x);
  const std::uint32_t root = unit_ex2(t, detail::multiply(x, detail::kHalf));
  return detail::multiply(root, root);
}

FP_BOTH inline std::uint32_t lg2(const Tables& t, std::uint32_t x) {
  if (!detail::below_normal(x)) return unit_lg2(t, x);
  return detail::add(unit_lg2(t, detail::multiply(x, detail::kTwo24)), detail::kMinus24);
}

FP_BOTH inline std::uint16_t ex2_f16(const Tables& t, std::uint16_t h) {
  return detail::cut_to_f16(unit_ex2(t, detail::widen_f16(h)));
}
FP_BOTH inline std::uint16_t tanh_f16(const Tables& t, std::uint16_t h) {
  return detail::cut_to_f16(unit_tanh(t, detail::widen_f16(h)));
}
FP_BOTH inline std::uint16_t ex2_bf16(const Tables& t, std::uint16_t h) {
  return detail::cut_to_bf16(unit_ex2(t, std::uint32_t{h} << 16));
}
FP_BOTH inline std::uint16_t tanh_bf16(const Tables& t, std::uint16_t h) {
  return detail::cut_to_bf16(unit_tanh(t, std::uint32_t{h} << 16));
}

/// A packed form: both halves by themselves.
template <std::uint16_t (*kHalf)(const Tables&, std::uint16_t)>
FP_BOTH std::uint32_t packed(const Tables& t, std::uint32_t x) {
  return kHalf(t, static_cast<std::uint16_t>(x)) | std::uint32_t{kHalf(t, static_cast<std::uint16_t>(x >> 16))} << 16;
}

// X(type, PTX, function): every instruction with one 32-bit register in and one out.
#define FP_SPECIAL_F32(X)                         \
  X(RcpFtz, "rcp.approx.ftz.f32", unit_rcp)       \
  X(Rcp, "rcp.approx.f32", rcp)                   \
  X(RsqrtFtz, "rsqrt.approx.ftz.f32", unit_rsqrt) \
  X(Rsqrt, "rsqrt.approx.f32", rsqrt)             \
  X(SqrtFtz, "sqrt.approx.ftz.f32", unit_sqrt)    \
  X(Sqrt, "sqrt.approx.f32", sqrt)                \
  X(Ex2Ftz, "ex2.approx.ftz.f32", unit_ex2)       \
  X(Ex2, "ex2.approx.f32", ex2)                   \
  X(Lg2Ftz, "lg2.approx.ftz.f32", unit_lg2)       \
  X(Lg2, "lg2.approx.f32", lg2)                   \
  X(Tanh, "tanh.approx.f32", unit_tanh)
#define FP_SPECIAL_PACKED(X)                       \
  X(Ex2F16x2, "ex2.approx.f16x2", packed<ex2_f16>) \
  X(TanhF16x2, "tanh.approx.f16x2", packed<tanh_f16>)
#define FP_SPECIAL_PACKED_SM_90(X)                        \
  X(Ex2Bf16x2, "ex2.approx.ftz.bf16x2", packed<ex2_bf16>) \
  X(TanhBf16x2, "tanh.approx.bf16x2", packed<tanh_bf16>)
// The same with 16-bit registers.
#define FP_SPECIAL_16(X)               \
  X(Ex2F16, "ex2.approx.f16", ex2_f16) \
  X(TanhF16, "tanh.approx.f16", tanh_f16)
#define FP_SPECIAL_16_SM_90(X)                \
  X(Ex2Bf16, "ex2.approx.ftz.bf16", ex2_bf16) \
  X(TanhBf16, "tanh.approx.bf16", tanh_bf16)

}  // namespace flashproof::special
