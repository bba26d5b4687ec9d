// attention.deferred.hardened that forgets to rescale the accumulator when the maximum rises.
//
//   defect     l is multiplied by e^{m − m'}, the accumulator is not
//   from       fault F15
//   rejected   by the law within_bound
#include "kernels/attention/deferred.h"

namespace flashproof::FP_EXECUTOR {

namespace {
struct AccumulatorNotRescaled : AttentionHardened {
  static constexpr bool kRescalesAccumulator = false;
};
}  // namespace

std::span<const KernelDeclaration> broken_attention_accumulator_not_rescaled() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.broken.accumulator_not_rescaled",
       .problem = ProblemKind::attention,
       .form = Form::broken,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kDeferredArithmetic,
       .unsupported = tile_unsupported,
       .launch = launch_attention_deferred<AccumulatorNotRescaled>,
       .rejected_by = "within_bound",
       .defect = "the accumulator is not rescaled when the maximum rises"},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
