// attention_backward.two_kernels.hardened that returns early for keys that no query sees.
//
//   defect     dk and dv of a key that no query sees are never written
//   rejected   by the law gradient_fully_written
#include "kernels/attention_backward/two_kernels.h"

namespace flashproof::FP_EXECUTOR {

namespace {
struct UnseenNotWritten : backward::Accurate {
  static constexpr bool kWritesUnseen = false;
};
}  // namespace

std::span<const BackwardDeclaration> broken_attention_backward_unseen_not_written() {
  static const BackwardDeclaration declarations[] = {
      {.id = "attention_backward.broken.unseen_not_written",
       .form = Form::broken,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = backward::kTileArithmetic,
       .unsupported = backward::tile_unsupported,
       .launch = launch_backward_two_kernels<UnseenNotWritten>,
       .workspace = backward::two_kernels_workspace,
       .rejected_by = "gradient_fully_written",
       .defect = "dk and dv of a key that no query sees are never written"},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
