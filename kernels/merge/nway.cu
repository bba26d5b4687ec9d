#include "kernels/merge/nway.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_nway() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.nway.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kNwayArithmetic,
       .unsupported = too_many_states,
       .launch = launch_flat<FlatWeights::shifted>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
