#include "kernels/softmax/split_row.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_split_row() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.split_row.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kSplitRowArithmetic,
       .unsupported = {},
       .launch = launch_split_row<SoftmaxHardened>,
       .workspace = SplitStates::workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
