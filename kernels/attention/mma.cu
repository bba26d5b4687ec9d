#include "kernels/attention/mma.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_mma() {
  static const KernelDeclaration declarations[] = {
      mma_declaration<MmaForm<Format::f16, Exponent::fused>>("attention.mma_f16.hardened"),
      mma_declaration<MmaForm<Format::bf16, Exponent::fused>>("attention.mma_bf16.hardened"),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
