// What flashproof wants to know of the stranger's kernel: how to call it, what it takes, and how it computes. Built once with
// the kernel as ported, once as fixed.
#include <row_softmax.cu>  // of the step, not of this folder

#include "kernels/registry.h"
#include "kernels/simt/det_math/det_error.h"

namespace flashproof::FP_EXECUTOR {
namespace {

void launch_stranger(const SoftmaxArgs& a, Stream) {
  if (a.rows > 0) softmax(static_cast<const float*>(a.x), static_cast<float*>(a.o), a.lse, a.rows, a.cols);
}

/// It knows no strides and no length of a row.
std::string unsupported(const Problem& problem) {
  const auto& p = std::get<SoftmaxProblem>(problem);
  if (!p.row_length.empty()) return "row_length: this kernel does not take it, legal: every column";
  return p.x.stride == dense_stride(p.x.shape) ? "" : "strides of x: legal are those of a dense tensor";
}

}  // namespace

std::span<const KernelDeclaration> stranger_kernels() {
  static constexpr Format kFormats[] = {Format::f32};
  static const KernelDeclaration declarations[] = {{
      .id = "softmax.row.stranger",
      .problem = ProblemKind::softmax,
      .form = Form::hardened,
      .formats = kFormats,
      .contract = {},
      .arithmetic = {.reduction = Reduction::two_pass,
                     .exp_error = kDetExpError,
                     .log_error = kDetLogError,
                     .lanes = 128,
                     .warps = 4,
                     .ending = Ending::divide},
      .unsupported = unsupported,
      .launch = launch_stranger,
  }};
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
