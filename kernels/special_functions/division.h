// The approximate quotients of f32 as ptxas makes them for sm_80 and sm_90 alike: the divisor's reciprocal from the
// special-function unit, times the dividend, both scaled by powers of two first where the unit would have no reciprocal.
// Read from the machine code of nvcc 13.0. div.approx: every one of 2^31 random pairs on an H200 has these bits.
// div.full, and the quotients just below 2^-126 of both: the golden inputs of kernels/ptx/test/golden on an H100.
#pragma once

#include "kernels/special_functions/instructions.h"

namespace flashproof::special {

namespace detail {

inline constexpr std::uint32_t kTwo126 = 0x7e800000;

FP_BOTH inline std::uint32_t flushed(std::uint32_t x) { return below_normal(x) ? x & kSign : x; }

/// FMUL.FTZ: a zero where the product is below 2^-126 when rounded as if exponents had no end, which it is 2^64 times as large.
FP_BOTH inline std::uint32_t multiply_ftz(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t product = multiply(flushed(x), flushed(y));
  const std::uint32_t raised = multiply(multiply(flushed(x), 0x5f800000), flushed(y));
  return (raised & ~kSign) < 0x20800000 ? product & kSign : product;
}

FP_BOTH inline bool beyond_two126(std::uint32_t y) { return !is_nan(y) && (y & ~kSign) > kTwo126; }

}  // namespace detail

FP_BOTH inline std::uint32_t div_approx_ftz(const Tables& t, std::uint32_t x, std::uint32_t y) {
  return detail::multiply_ftz(unit_rcp(t, y), x);
}

FP_BOTH inline std::uint32_t div_approx(const Tables& t, std::uint32_t x, std::uint32_t y) {
  if (detail::below_normal(y)) x = detail::multiply(x, detail::kTwo24), y = detail::multiply(y, detail::kTwo24);
  return detail::multiply(unit_rcp(t, y), x);
}

FP_BOTH inline std::uint32_t div_full_ftz(const Tables& t, std::uint32_t x, std::uint32_t y) {
  if (detail::beyond_two126(y)) {
    x = detail::multiply_ftz(x, detail::kQuarter), y = detail::multiply_ftz(y, detail::kQuarter);
  }
  return detail::multiply_ftz(unit_rcp(t, y), x);
}

FP_BOTH inline std::uint32_t div_full(const Tables& t, std::uint32_t x, std::uint32_t y) {
  if (detail::beyond_two126(y)) x = detail::multiply(x, detail::kQuarter), y = detail::multiply(y, detail::kQuarter);
  return div_approx(t, x, y);
}

// X(type, PTX, function): every instruction with two 32-bit registers in and one out.
#define FP_SPECIAL_QUOTIENTS(X)                         \
  X(DivApproxFtz, "div.approx.ftz.f32", div_approx_ftz) \
  X(DivApprox, "div.approx.f32", div_approx)            \
  X(DivFullFtz, "div.full.ftz.f32", div_full_ftz)       \
  X(DivFull, "div.full.f32", div_full)

}  // namespace flashproof::special
