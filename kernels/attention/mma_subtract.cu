#include "kernels/attention/mma.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_mma_subtract() {
  constexpr Exponent kForm = Exponent::subtract_then_scale;
  static const KernelDeclaration declarations[] = {
      mma_declaration<MmaForm<Format::f16, kForm>>("attention.mma_subtract_f16.hardened"),
      mma_declaration<MmaForm<Format::bf16, kForm>>("attention.mma_subtract_bf16.hardened"),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
