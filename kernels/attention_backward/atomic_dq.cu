#include "kernels/attention_backward/atomic_dq.h"

namespace flashproof::FP_EXECUTOR {

std::span<const BackwardDeclaration> attention_backward_atomic_dq() {
  static const BackwardDeclaration declarations[] = {
      {.id = "attention_backward.atomic_dq.hardened",
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .deterministic = false},
       .arithmetic = kAtomicDqArithmetic,
       .unsupported = backward::tile_unsupported,
       .launch = launch_backward_atomic_dq<backward::Accurate>,
       .workspace = backward::atomic_dq_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
