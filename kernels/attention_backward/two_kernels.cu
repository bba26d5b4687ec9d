#include "kernels/attention_backward/two_kernels.h"

namespace flashproof::FP_EXECUTOR {

std::span<const BackwardDeclaration> attention_backward_two_kernels() {
  static const BackwardDeclaration declarations[] = {
      {.id = "attention_backward.two_kernels.hardened",
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = backward::kTileArithmetic,
       .unsupported = backward::tile_unsupported,
       .launch = launch_backward_two_kernels<backward::Accurate>,
       .workspace = backward::two_kernels_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
