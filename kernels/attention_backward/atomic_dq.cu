#include "kernels/attention_backward/atomic_dq.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_backward_atomic_dq() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention_backward.atomic_dq.hardened",
       .problem = ProblemKind::backward,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .deterministic = false},
       .backward = kAtomicDqArithmetic,
       .unsupported = {backward::tile_unsupported, {Feature::window, Feature::alibi}},
       .launch = launch_backward_atomic_dq<backward::Accurate>,
       .workspace = backward::atomic_dq_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
