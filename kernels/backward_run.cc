// Runs a backward kernel, of this project or of another: as run.cc.
#include <algorithm>
#include <optional>

#include "kernels/backward.h"
#include "kernels/backward_cuda.h"
#include "kernels/broken/dose.h"
#include "kernels/broken/fault.h"
#include "kernels/dense_features.h"
#include "kernels/far_copies.h"
#include "kernels/guarded_buffer.h"
#include "kernels/make_args.h"
#include "kernels/margin_copies.h"
#include "kernels/simt/executor.h"
#include "kernels/watch_inputs.h"
#include "reference/problem/error.h"

namespace flashproof {

bool BackwardKernel::supports(Format format) const { return std::ranges::find(formats, format) != formats.end(); }

BackwardArithmetic BackwardKernel::arithmetic_for(Format format) const {
  BackwardArithmetic result = arithmetic;
  if (weights_as_stored) result.p = result.ds = format;
  return result;
}

namespace {

/// As many bytes as the kernel asks for, every one 0xff.
Tensor workspace_of(const BackwardKernel& kernel, const BackwardProblem& problem) {
  const std::int64_t bytes = kernel.workspace == nullptr ? 0 : kernel.workspace(problem);
  return Tensor::dense(Format::f32, {(bytes + 3) / 4});
}

void run_on_cpu(const BackwardKernel& kernel, const BackwardProblem& problem, const RunOptions& options,
                Tensor& workspace, Gradients& gradients) {
  const simt::ScopedSchedule schedule(options.schedule);
  const ScopedDose dose(dose_of(kernel.fault, options));
  GuardedBuffer dq(gradients.dq);
  GuardedBuffer dk(gradients.dk);
  GuardedBuffer dv(gradients.dv);
  GuardedBuffer space(workspace);
  if (options.shadow != nullptr) {
    watch_inputs(*options.shadow, problem);
    watch_output(*options.shadow, "dq", dq.tensor(), gradients.dq);
    watch_output(*options.shadow, "dk", dk.tensor(), gradients.dk);
    watch_output(*options.shadow, "dv", dv.tensor(), gradients.dv);
    watch_output(*options.shadow, "workspace", space.tensor(), workspace);
  }
  FarCopies far;
  std::optional<BackwardProblem> apart;
  if (options.far_axis >= 0) far.spread(apart.emplace(problem), options.far_axis);
  MarginCopies copies;
  const bool with_margins = kernel.fault != nullptr || options.guard_inputs;
  BackwardArgs args = make_args(
      apart ? *apart : problem, gradients,
      [&](const void* data, std::size_t bytes) {
        if (const void* there = far.find(data)) return there;
        return with_margins ? copies.place(data, bytes) : data;
      },
      [&](Tensor& tensor) -> void* {
        return (&tensor == &gradients.dq ? dq : &tensor == &gradients.dk ? dk : dv).tensor();
      });
  args.workspace = {space.tensor(), static_cast<std::int64_t>(workspace.storage.size())};
  kernel.launch(args, Stream{});
  copies.finish();
  dq.finish(gradients.dq, "dq");
  dk.finish(gradients.dk, "dk");
  dv.finish(gradients.dv, "dv");
  space.finish(workspace, "the workspace");
}

}  // namespace

Gradients run(const BackwardKernel& kernel, const BackwardProblem& problem, const RunOptions& options) {
  validate(problem);
  const std::string id(kernel.id);
  const AttentionProblem& forward = problem.forward;
  const Format format = forward.q.format;
  if (kernel.math == Math::native && options.executor == Executor::cpu) {
    throw UsageError("kernel " + id + ": native math runs on a GPU only");
  }
  if (!kernel.supports(format)) {
    throw UsageError("kernel " + id + ": format " + std::string(info(format).name) + ", legal f32, f16, bf16");
  }
  if (const std::string why = kernel.unsupported(problem); !why.empty()) {
    throw UsageError("kernel " + id + ": " + why);
  }
  if (!has_dense_features(forward)) {
    BackwardProblem dense = problem;
    dense.forward = with_dense_features(std::move(dense.forward));
    return run(kernel, dense, options);
  }
  const std::int64_t batch = forward.batch();
  Gradients gradients{
      poisoned(format, {batch, forward.q_heads(), forward.q_length(), forward.head_dim()}),
      poisoned(format, {batch, forward.k_heads(), forward.k_length(), forward.head_dim()}),
      poisoned(format, {batch, forward.k_heads(), forward.k_length(), forward.value_dim()}),
  };
  Tensor workspace = workspace_of(kernel, problem);
  std::ranges::fill(workspace.storage, options.workspace_fill);
  if (options.executor == Executor::cuda) {
    run_on_cuda(kernel, problem, workspace, gradients);
  } else {
    run_on_cpu(kernel, problem, options, workspace, gradients);
  }
  return gradients;
}

}  // namespace flashproof
