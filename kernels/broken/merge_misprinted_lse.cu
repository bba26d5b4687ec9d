// merge.pairwise.hardened with the misprinted update of lse.
//
//   defect     lse = lse0 + ln(1 + exp(lse1 − exp(lse0)))
//   from       seed 002, the formula in the text (the listing beside it is right; fault F12)
//   rejected   by the law within_bound
#include "kernels/merge/pairwise.h"

namespace flashproof::FP_EXECUTOR {

namespace {
struct MisprintedLse : MergeHardened {
  static constexpr bool kMisprintsLse = true;
};
}  // namespace

std::span<const KernelDeclaration> broken_merge_misprinted_lse() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.broken.misprinted_lse",
       .problem = ProblemKind::merge,
       .form = Form::broken,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = merge_pairwise_arithmetic(MergeWeights::stable),
       .unsupported = merge_pairwise_unsupported<MergeHardened>,
       .launch = launch_merge_pairwise<MisprintedLse>,
       .rejected_by = "within_bound",
       .defect = "lse = lse0 + ln(1 + exp(lse1 - exp(lse0)))"},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
