// Every f32 pattern of det_exp, det_exp2, det_log, det_log2 and det_tanh against glibc's double functions; the thousand worst of
// each against MPFR.
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "kernels/simt/det_math/det_math_verdict.h"

namespace flashproof::det_test {
namespace {

TEST(DetMathExhaustive, Exp) {
  const Result result = sweep_exp(kExp, [](double x) { return std::exp(x); });
  judge_exp<mpfr_exp>(kExp, result, kDetExpError, kDetExpSubnormalError);
}

TEST(DetMathExhaustive, Exp2) {
  const Result result = sweep_exp(kExp2, [](double x) { return std::exp2(x); });
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
  const Result result = sweep_log(kLog, [](double x) { return std::log(x); }, std::numbers::ln2);
  judge_log<mpfr_log>(kLog, result, kDetLogError);
}

TEST(DetMathExhaustive, Log2) {
  const Result result = sweep_log(kLog2, [](double x) { return std::log2(x); }, 1);
  judge_log<mpfr_log2>(kLog2, result, kDetLog2Error);
}

TEST(DetMathExhaustive, Tanh) {
  const TanhResult result = sweep_tanh(kTanh, [](double x) { return std::tanh(x); });
  judge_tanh<mpfr_tanh>(kTanh, result, kDetTanhError);
}

}  // namespace
}  // namespace flashproof::det_test
