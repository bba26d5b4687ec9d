// attention_backward.two_kernels.hardened that forgets D.
//
//   defect     dS is P·dP: the row sum D is not subtracted
//   rejected   by the law gradient_within_bound
#include "kernels/attention_backward/two_kernels.h"

namespace flashproof::FP_EXECUTOR {

namespace {
struct DeltaNotSubtracted : backward::Accurate {
  static constexpr bool kSubtractsDelta = false;
};
}  // namespace

std::span<const BackwardDeclaration> broken_attention_backward_delta_not_subtracted() {
  static const BackwardDeclaration declarations[] = {
      {.id = "attention_backward.broken.delta_not_subtracted",
       .form = Form::broken,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = backward::kTileArithmetic,
       .unsupported = backward::tile_unsupported,
       .launch = launch_backward_two_kernels<DeltaNotSubtracted>,
       .workspace = backward::two_kernels_workspace,
       .rejected_by = "gradient_within_bound",
       .defect = "dS is P·dP: the row sum D is not subtracted"},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
