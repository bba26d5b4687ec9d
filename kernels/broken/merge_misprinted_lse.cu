// merge.pairwise_stable.hardened with the misprinted update of lse.
//
//   defect     lse = lse0 + ln(1 + exp(lse1 − exp(lse0)))
//   from       seed 002, the formula in the text (the listing beside it is right; fault F12)
//   rejected   by the law within_bound
#include "kernels/merge/pairwise_stable.h"

namespace flashproof::FP_EXECUTOR {

namespace {
struct MisprintedLse : Stable {
  __device__ static Joined join(const Node& a, const Node& b) {
    Joined result = Stable::join(a, b);
    const float ratio = math_exp(__fsub_rn(b.frame, math_exp(a.frame)));
    result.node.frame = __fadd_rn(a.frame, math_log(__fadd_rn(1.0F, ratio)));
    return result;
  }
};
}  // namespace

std::span<const KernelDeclaration> broken_merge_misprinted_lse() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.broken.misprinted_lse",
       .problem = ProblemKind::merge,
       .form = Form::broken,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = stable_arithmetic(Reduction::pairwise_fold),
       .unsupported = too_many_states,
       .launch = launch_fold<MisprintedLse>,
       .rejected_by = "within_bound",
       .defect = "lse = lse0 + ln(1 + exp(lse1 - exp(lse0)))"},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
