#include "kernels/merge/division_free.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_division_free() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.division_free.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kDivisionFreeArithmetic,
       .unsupported = too_many_states,
       .launch = launch_flat<FlatWeights::division_free>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
