// Prints the seven sums of det_math_golden.h and exits 1 if one differs from the stored constant. golden.sh compiles this
// file with several compilers and flags: the bits must not depend on them.
#include "kernels/simt/det_math/det_math_golden.h"

#include <cinttypes>
#include <cstdio>

int main() {
  using namespace flashproof;
  using namespace flashproof::FP_EXECUTOR;
  int failures = 0;
  const auto check = [&](const char* name, std::uint64_t sum, std::uint64_t expected) {
    std::printf("%-10s 0x%016" PRIx64 "%s\n", name, sum, sum == expected ? "" : "  DIFFERS");
    failures += sum == expected ? 0 : 1;
  };
  check("exp", golden_sum([](float x) { return det_exp(x); }, kGoldenStride), kGoldenExp);
  check("exp2", golden_sum([](float x) { return det_exp2(x); }, kGoldenStride), kGoldenExp2);
  check("log", golden_sum([](float x) { return det_log(x); }, kGoldenStride), kGoldenLog);
  check("log2", golden_sum([](float x) { return det_log2(x); }, kGoldenStride), kGoldenLog2);
  check("tanh", golden_sum([](float x) { return det_tanh(x); }, kGoldenStride), kGoldenTanh);
  check("exp_scaled", golden_sum([](float x) { return det_exp_scaled(x); }, kGoldenStride), kGoldenExpScaled);
  check("max_nan", golden_sum(ScrambledMax{}, kGoldenStride), kGoldenMaxNan);
  return failures == 0 ? 0 : 1;
}
