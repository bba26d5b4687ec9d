// The references that the probe measures functions against: e^x, 2^x, ln x, log2 x, tanh x, 1/x of an f32, in double.
// Their relative error, derived in README.md, is at most kTruthError; it is added to every certified figure. Only + − ×
// ÷ fma and integers, and no product feeds a sum except through fma, so that a compiler that contracts finds nothing to
// contract: the host and a device get the same bits, and the test against MPFR on the host holds on the device.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/probe/both.h"

namespace flashproof::probe {

inline constexpr double kTruthError = 0x1p-48;

namespace truth {

inline constexpr double kLog2E = 0x1.71547652b82fep0;  // fl(log2 e)
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;   // fl(ln 2)
inline constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;

FP_PROBE_BOTH inline double from_bits(std::uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
FP_PROBE_BOTH inline std::uint64_t to_bits(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// p · 2^n, exact where both are normal.
FP_PROBE_BOTH inline double scale(double p, int n) { return p * from_bits(static_cast<std::uint64_t>(n + 1023) << 52); }

/// The nearest integer of x·factor, below 2^31.
FP_PROBE_BOTH inline double nearest(double x, double factor = 1) { return std::fma(x, factor, 0x1.8p52) - 0x1.8p52; }

/// e^t for |t| <= 0.35: the series to t^14.
FP_PROBE_BOTH inline double exp_small(double t) {
  double sum = 1.0 / 87178291200.0;
  sum = std::fma(sum, t, 1.0 / 6227020800.0);
  sum = std::fma(sum, t, 1.0 / 479001600.0);
  sum = std::fma(sum, t, 1.0 / 39916800.0);
  sum = std::fma(sum, t, 1.0 / 3628800.0);
  sum = std::fma(sum, t, 1.0 / 362880.0);
  sum = std::fma(sum, t, 1.0 / 40320.0);
  sum = std::fma(sum, t, 1.0 / 5040.0);
  sum = std::fma(sum, t, 1.0 / 720.0);
  sum = std::fma(sum, t, 1.0 / 120.0);
  sum = std::fma(sum, t, 1.0 / 24.0);
  sum = std::fma(sum, t, 1.0 / 6.0);
  sum = std::fma(sum, t, 0.5);
  sum = std::fma(sum, t, 1.0);
  return std::fma(sum, t, 1.0);
}

/// ln m for m in [2/3, 4/3): 2 atanh(f/(2 + f)), f = m − 1.
FP_PROBE_BOTH inline double log_small(double m) {
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double sum = 1.0 / 27;
  for (int k = 25; k >= 1; k -= 2) sum = std::fma(sum, z, 1.0 / k);
  return 2.0 * s * sum;
}

/// x = 2^e m, m in [2/3, 4/3), x > 0.
FP_PROBE_BOTH inline double split(double x, double& m) {
  const std::uint64_t bits = to_bits(x);
  auto e = static_cast<int>(bits >> 52) - 1023;
  m = from_bits((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m >= 4.0 / 3) {
    m *= 0.5;
    ++e;
  }
  return e;
}

FP_PROBE_BOTH inline double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

}  // namespace truth

/// 2^x; beyond ±1000 that of ±1000.
FP_PROBE_BOTH inline double true_exp2(double x) {
  x = truth::clamped(x, -1000, 1000);
  const double n = truth::nearest(x);
  return truth::scale(truth::exp_small((x - n) * truth::kLn2), static_cast<int>(n));
}

/// e^x; beyond ±690 that of ±690.
FP_PROBE_BOTH inline double true_exp(double x) {
  x = truth::clamped(x, -690, 690);
  const double n = truth::nearest(x, truth::kLog2E);
  const double r = std::fma(-n, truth::kLn2Low, std::fma(-n, truth::kLn2, x));
  return truth::scale(truth::exp_small(r), static_cast<int>(n));
}

/// ln x of a finite x > 0 that is an f32.
FP_PROBE_BOTH inline double true_log(double x) {
  double m;
  const double e = truth::split(x, m);
  return std::fma(e, truth::kLn2, std::fma(e, truth::kLn2Low, truth::log_small(m)));
}

FP_PROBE_BOTH inline double true_log2(double x) {
  double m;
  const double e = truth::split(x, m);
  return std::fma(truth::log_small(m), truth::kLog2E, e);
}

FP_PROBE_BOTH inline double true_tanh(double x) {
  const double y = x < 0 ? -x : x;
  double t = 1;
  if (y < 0.25) {  // the continued fraction x/(1 + x²/(3 + x²/(5 + ...)))
    const double z = y * y;
    double tail = 17.0;
    for (int k = 15; k >= 1; k -= 2) tail = k + z / tail;
    t = y / tail;
  } else if (y < 40) {
    const double e = true_exp(-2 * y);
    t = (1 - e) / (1 + e);
  }
  return x < 0 ? -t : t;
}

}  // namespace flashproof::probe
