// softmax.online_block.hardened that drops the columns after the last full stride of the block.
//
//   defect     cols mod threads columns are neither summed nor written
//   from       seed 004 as published (fault F50)
//   rejected   by the law outputs_fully_written
#include "kernels/softmax/online_block.h"

namespace flashproof::FP_EXECUTOR {

namespace {
struct TailDropped : SoftmaxHardened {
  static constexpr bool kCoversTail = false;
};
}  // namespace

std::span<const KernelDeclaration> broken_softmax_tail_dropped() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.broken.tail_dropped",
       .problem = ProblemKind::softmax,
       .form = Form::broken,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = online_block_arithmetic<SoftmaxHardened>(),
       .unsupported = online_block_unsupported,
       .launch = launch_online_block<TailDropped>,
       .rejected_by = "outputs_fully_written",
       .defect = "columns after the last full stride are dropped"},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
