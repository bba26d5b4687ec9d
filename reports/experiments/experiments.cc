#include "reports/experiments/experiments.h"

namespace flashproof {

std::span<const Experiment> experiments() {
  static constexpr Experiment kExperiments[] = {
      {"fused_exponent", "exp2(fma(x, c, -fl(m c))) costs u|m| once the maximum moves; subtracting first does not",
       fused_exponent},
      {"one_signed_v",
       "truncating matrix units drift with one-signed v (Khattak & Mikaitis; DeepSeek-V3's fp8 finding)", one_signed_v},
      {"merge_orders",
       "largest |error of o|, 256 rows of n states, o = ±1, lse = 1e5 + U(-3, 3): orders of merging (ring, split-KV)",
       merge_orders},
      {"biased_output", "ties of the maximum bias a bf16 output, and with it rowsum(dO o) (arXiv 2510.04212)",
       biased_output},
      {"outlier_rmse", "RMSE on N(0,1) + N(0,100) Bernoulli(0.001), FlashAttention-3's table, f16, bf16 and e4m3",
       outlier_rmse},
  };
  return kExperiments;
}

}  // namespace flashproof
