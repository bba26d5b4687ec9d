#include "kernels/attention/mma.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_mma_e4m3p() {
  static const KernelDeclaration declarations[] = {
      mma_declaration<MmaForm<Format::f16, Exponent::fused, Format::e4m3fn>>("attention.mma_e4m3p.hardened"),
      mma_declaration<MmaForm<Format::f16, Exponent::fused, Format::e4m3fn, 256>>(
          "attention.mma_e4m3p_scaled.hardened"),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
