// Every f32 pattern of det_exp, det_exp2, det_log, det_log2 and det_tanh against correctly rounded truths from MPFR: every reduced
// argument of the logarithms (one MPFR call per mantissa, and per subnormal), and e^h and e^l of every argument h + l of the
// exponentials. The error of the truth is then below the slack that det_math_sweep.h derives for 1 ulp: correct rounding is half of
// that. By day det_math_golden holds the bits of a sample.
#include <bit>
#include <cstdint>
#include <numbers>

#include "kernels/simt/det_math/det_math_verdict.h"

namespace flashproof::det_test {
namespace {

TEST(DetMathExhaustive, Exp) {
  const Result result = sweep_exp(kExp, nearest_double<mpfr_exp>);
  judge_exp<mpfr_exp>(kExp, result, kDetExpError, kDetExpSubnormalError);
}

TEST(DetMathExhaustive, Exp2) {
  const Result result = sweep_exp(kExp2, nearest_double<mpfr_exp2>);
  judge_exp<mpfr_exp2>(kExp2, result, kDetExp2Error, kDetExp2SubnormalError);
}

// The bounds rely on it: no weight below the maximum counts more than the maximum (reference/bound/declare/arithmetic.h).
TEST(DetMathExhaustive, NoExponentialOfANonPositiveNumberExceedsOne) {
  std::uint64_t above = 0;
  for (std::uint64_t bits = 0x80000000; bits <= 0xff800000; ++bits) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    above += !(cpu::det_exp(x) <= 1) + !(cpu::det_exp2(x) <= 1) + !(cpu::det_exp_scaled(x) <= 1);
  }
  EXPECT_EQ(above, 0U);
}

TEST(DetMathExhaustive, Log) {
  const Result result = sweep_log(kLog, nearest_double<mpfr_log>, std::numbers::ln2);
  judge_log<mpfr_log>(kLog, result, kDetLogError);
}

TEST(DetMathExhaustive, Log2) {
  const Result result = sweep_log(kLog2, nearest_double<mpfr_log2>, 1);
  judge_log<mpfr_log2>(kLog2, result, kDetLog2Error);
}

TEST(DetMathExhaustive, Tanh) {
  const TanhResult result = sweep_tanh(kTanh, nearest_double<mpfr_tanh>);
  judge_tanh<mpfr_tanh>(kTanh, result, kDetTanhError);
}

}  // namespace
}  // namespace flashproof::det_test
