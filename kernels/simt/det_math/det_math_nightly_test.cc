// The same sweep as det_math_exhaustive_test.cc with correctly rounded truths from MPFR, so that nothing rests on
// glibc: every reduced argument of the logarithms (one MPFR call per mantissa, and per subnormal), and e^h and e^l of
// every argument h + l of the exponentials. The error of the truth is then below the slack that det_math_sweep.h
// derives for 1 ulp: correct rounding is half of that.
#include <numbers>

#include "kernels/simt/det_math/det_math_verdict.h"

namespace flashproof::det_test {
namespace {

TEST(DetMathNightly, Exp) {
  const Result result = sweep_exp(kExp, nearest_double<mpfr_exp>);
  judge_exp<mpfr_exp>(kExp, result, kDetExpError, kDetExpSubnormalError);
}

TEST(DetMathNightly, Exp2) {
  const Result result = sweep_exp(kExp2, nearest_double<mpfr_exp2>);
  judge_exp<mpfr_exp2>(kExp2, result, kDetExp2Error, kDetExp2SubnormalError);
}

TEST(DetMathNightly, Log) {
  const Result result = sweep_log(kLog, nearest_double<mpfr_log>, std::numbers::ln2);
  judge_log<mpfr_log>(kLog, result, kDetLogError);
}

TEST(DetMathNightly, Log2) {
  const Result result = sweep_log(kLog2, nearest_double<mpfr_log2>, 1);
  judge_log<mpfr_log2>(kLog2, result, kDetLog2Error);
}

TEST(DetMathNightly, Tanh) {
  const TanhResult result = sweep_tanh(kTanh, nearest_double<mpfr_tanh>);
  judge_tanh<mpfr_tanh>(kTanh, result, kDetTanhError);
}

}  // namespace
}  // namespace flashproof::det_test
