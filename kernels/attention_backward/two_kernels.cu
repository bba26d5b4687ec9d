#include "kernels/attention_backward/two_kernels.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_backward_two_kernels() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention_backward.two_kernels.hardened",
       .problem = ProblemKind::backward,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .backward = backward::kTileArithmetic,
       .unsupported = {backward::tile_unsupported, {Feature::window, Feature::alibi}},
       .launch = launch_backward_two_kernels<backward::Accurate>,
       .workspace = backward::two_kernels_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
