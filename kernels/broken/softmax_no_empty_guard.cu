// softmax.online_block.hardened without its guard for a running maximum of −inf.
//
//   defect     −inf − (−inf) = NaN in every thread whose first column is −inf, in the tree, and for an empty row
//   from       seed 004 as published (fault F03)
//   rejected   by the law class_matches_semantics
#include "kernels/softmax/online_block.h"

namespace flashproof::FP_EXECUTOR {

namespace {
struct NoEmptyGuard : SoftmaxHardened {
  static constexpr bool kGuardsEmpty = false;
};
}  // namespace

std::span<const KernelDeclaration> broken_softmax_no_empty_guard() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.broken.no_empty_guard",
       .problem = ProblemKind::softmax,
       .form = Form::broken,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = online_block_arithmetic<SoftmaxHardened>(),
       .unsupported = online_block_unsupported,
       .launch = launch_online_block<NoEmptyGuard>,
       .rejected_by = "class_matches_semantics",
       .defect = "a running maximum of -inf is subtracted from itself"},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
