// For the tests of det_tanh: every f32 pattern, absolute and relative error against a truth in double.
//
// Below 2^-13 the truth is x − x³/3, which lacks less than 2/15 |x|^5 < 2^-54 |x|; from 9.25 on tanh x is above
// 1 − 2^-25, and the answer must be 1. Between them lie 141 million patterns, one call of an exact function each. If
// that errs by at most 2 ulp of double (the glibc manual has 2 for tanh on x86-64), the truth is within 2^-51 of itself
// relatively: kTruthSlack of det_math_sweep.h covers it. tanh is odd, and so must the function be, bit for bit.
#pragma once

#include "kernels/simt/det_math/det_math_sweep.h"

namespace flashproof::det_test {

struct TanhResult {
  Worst absolute;
  double relative = 0;
  std::uint64_t patterns = 0;
  std::uint64_t not_odd = 0;
  std::uint64_t wrong_constants = 0;
};

/// The patterns [first, end), a multiple of kBlock of them, and their negatives.
template <class F, class Exact>
void sweep_tanh_range(F f, Exact exact, std::uint32_t first, std::uint32_t end, TanhResult& result) {
  std::array<float, kBlock> y;
  std::array<double, kBlock> error;
  for (std::uint32_t base = first; base != end; base += kBlock) {
    std::uint32_t not_odd = 0;
    std::uint32_t suspects = 0;
    const double floor = result.absolute.floor();
    double relative = 0;
    for (std::uint32_t i = 0; i < kBlock; ++i) y[i] = f(from_bits(base + i));
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      not_odd += to_bits(f(from_bits((base + i) | 0x80000000))) != (to_bits(y[i]) | 0x80000000) ? 1 : 0;
    }
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const double truth = exact(from_bits(base + i));
      error[i] = std::fabs(y[i] - truth);
      suspects += error[i] <= floor ? 0 : 1;  // NaN is a suspect
      relative = truth >= 0x1p-126 ? std::max(relative, error[i] / truth) : relative;
    }
    result.patterns += 2 * kBlock;
    result.not_odd += not_odd;
    result.relative = std::max(result.relative, relative);
    for (std::uint32_t i = 0; suspects != 0 && i < kBlock; ++i) result.absolute.add(error[i], from_bits(base + i));
  }
}

template <class F, class Exact>
TanhResult sweep_tanh(F f, Exact exact) {
  constexpr std::uint32_t kInfinity = 0x7f800000, kMinus = 0x80000000;
  const std::uint32_t small = to_bits(0x1p-13f), one = to_bits(9.25f);
  TanhResult result;
  sweep_tanh_range(f, [](double x) { return x - x * x * x / 3; }, 0, small, result);
  sweep_tanh_range(f, exact, small, one, result);
  Result constants;
  expect_constant(f, one, kInfinity + 1 - one, 0x3f800000, constants);
  expect_constant(f, kMinus | one, kInfinity + 1 - one, 0xbf800000, constants);
  for (const std::uint32_t sign : {0U, kMinus}) {
    expect_constant(f, sign + kInfinity + 1, kMinus - kInfinity - 1, 0x7fffffff, constants);
  }
  result.patterns += constants.patterns;
  result.wrong_constants = constants.wrong_constants;
  return result;
}

}  // namespace flashproof::det_test
