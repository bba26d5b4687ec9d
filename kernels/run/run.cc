#include "kernels/run/run.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>

#include "kernels/broken/dose.h"
#include "kernels/broken/fault.h"
#include "kernels/dense_features.h"
#include "kernels/run/far_copies.h"
#include "kernels/run/guarded_buffer.h"
#include "kernels/run/make_args.h"
#include "kernels/run/margin_copies.h"
#include "kernels/run/ptx_target.h"
#include "kernels/run/run_cuda.h"
#include "kernels/run/watch_inputs.h"
#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/native_math.h"
#include "reference/error/judge.h"
#include "reference/error/semantics/declared_terms.h"
#include "reference/system/error.h"

namespace flashproof {

std::uint64_t poison_bits(Format format) {
  switch (format) {
    case Format::f32:
      return 0x7fedbeef;
    case Format::f16:
      return 0x7eef;
    case Format::bf16:
      return 0x7fed;
    default:
      throw UsageError("format " + std::string(info(format).name) + ": outputs are f32, f16 or bf16");
  }
}

Tensor poisoned(Format format, std::vector<std::int64_t> shape) {
  Tensor tensor = Tensor::dense(format, std::move(shape));
  const std::uint64_t poison = poison_bits(format);
  const auto size = static_cast<std::size_t>(bytes_of(format));
  if (tensor.storage.empty()) return tensor;
  std::memcpy(tensor.storage.data(), &poison, size);  // little endian, as tensors are
  for (std::size_t done = size; done < tensor.storage.size();) {
    const std::size_t more = std::min(done, tensor.storage.size() - done);
    std::memcpy(tensor.storage.data() + done, tensor.storage.data(), more);
    done += more;
  }
  return tensor;
}

Kernel on_unit(const Kernel& kernel, const BlockFma& unit) {
  Kernel exchanged = kernel;
  for (Products* products : {&exchanged.arithmetic.dot, &exchanged.arithmetic.values}) {
    if (products->unit.k > 0) products->unit = unit;
  }
  return exchanged;
}

double dose_of(const SeededFault* fault, const RunOptions& options) {
  if (fault == nullptr) return 0;
  return options.dose != 0 ? options.dose : fault->dose.registered;
}

Tensor workspace_of(const Kernel& kernel, const Problem& problem) {
  const std::int64_t bytes = kernel.workspace == nullptr ? 0 : kernel.workspace(problem);
  return Tensor::dense(Format::f32, {(bytes + 3) / 4});
}

namespace {

/// One output, and where the kernel writes it.
struct Guarded {
  Guarded(Part part, Tensor& to) : name(flashproof::name(part)), tensor(&to), buffer(to) {}
  std::string name;
  Tensor* tensor;
  GuardedBuffer buffer;
};

/// Fibers, or, where `ptx` is not null, the kernel's PTX.
void run_on_cpu(const Kernel& kernel, const Problem& problem, const RunOptions& options, Tensor& workspace,
                Output& output, PtxTarget* ptx) {
  const simt::ScopedSchedule schedule(options.schedule);
  const simt::ScopedMatrixUnit unit(options.matrix_unit);
  const simt::ScopedMath math(kernel.math == Math::native);
  const ScopedDose dose(dose_of(kernel.fault, options));
  std::deque<Guarded> outputs;
  for (const Part part : parts(kernel.problem)) outputs.emplace_back(part, output[part]);
  GuardedBuffer space(workspace);
  std::optional<simt::ScopedLaunchTarget> launches;
  if (ptx != nullptr) {
    ptx->begin(kernel);
    launches.emplace(*ptx);
    for (Guarded& out : outputs) ptx->add(out.buffer.tensor(), out.tensor->storage.size(), true, out.name);
    ptx->add(space.tensor(), workspace.storage.size(), true, "workspace");
  }
  const auto place_output = [&](Tensor& tensor) -> void* {
    return std::ranges::find(outputs, &tensor, &Guarded::tensor)->buffer.tensor();
  };
  if (options.shadow != nullptr) {
    std::visit([&](const auto& p) { watch_inputs(*options.shadow, p); }, problem);
    for (Guarded& out : outputs) watch_output(*options.shadow, out.name, out.buffer.tensor(), *out.tensor);
    watch_output(*options.shadow, "workspace", space.tensor(), workspace);
  }
  std::visit(
      [&](const auto& given) {
        using P = std::decay_t<decltype(given)>;
        FarCopies far;
        std::optional<P> apart;
        if (options.far_axis >= 0) far.spread(apart.emplace(given), options.far_axis);
        const P& p = apart ? *apart : given;
        MarginCopies copies;
        const bool with_margins = kernel.fault != nullptr || options.guard_inputs;
        const auto place = [&](const void* data, std::size_t bytes) {
          if (const void* there = far.find(data)) return there;
          const void* there = with_margins ? copies.place(data, bytes) : data;
          if (ptx != nullptr) ptx->add(const_cast<void*>(there), bytes, false, "an input");
          return there;
        };
        auto args = make_args(p, output, place, place_output);
        args.workspace = {space.tensor(), static_cast<std::int64_t>(workspace.storage.size())};
        std::get<void (*)(const decltype(args)&, Stream)>(kernel.launch)(args, Stream{});
        copies.finish();
      },
      problem);
  for (const Guarded& out : outputs) out.buffer.finish(*out.tensor, out.name);
  space.finish(workspace, "the workspace");
}

std::string text(const Tensor& tensor) {
  std::string shape;
  for (const std::int64_t extent : tensor.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return std::string(info(tensor.format).name) + " (" + shape + ")";
}

/// The problem in the kernel's terms. What it returns is from outside; what it does not return is the rounded truth.
Output run_foreign(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  const Semantics& semantics = kernel.contract.semantics;
  if (const std::string why = not_handed_over(problem, semantics); !why.empty()) throw UsageError(why);
  const std::optional<Problem> in_its_terms = handed_over(problem, semantics);
  Output output = kernel.foreign(in_its_terms ? *in_its_terms : problem, options);
  for (const Part part : parts(kernel.problem)) {
    if (!returned(kernel.contract, part)) {
      output[part] = rounded_truth(problem, part, semantics);
      continue;
    }
    const Tensor expected = Tensor::dense(output_format(problem, part), output_shape(problem, part));
    const Tensor& given = output[part];
    if (given.format != expected.format || given.shape != expected.shape ||
        given.storage.size() != expected.storage.size()) {
      throw KernelFault("the kernel returned " + std::string(name(part)) + " as " + text(given) + ", not as " +
                        text(expected));
    }
  }
  return output;
}

}  // namespace

Output run(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  validate(problem);
  const std::string id(kernel.id);
  if (kind_of(problem) != kernel.problem) {
    throw UsageError("kernel " + id + ": takes " + std::string(name(kernel.problem)) + " problems, not " +
                     std::string(name(kind_of(problem))));
  }
  if (!kernel.supports(format_of(problem))) {
    std::string legal;
    for (const Format format : kernel.formats) legal += (legal.empty() ? "" : ", ") + std::string(info(format).name);
    throw UsageError("kernel " + id + ": format " + std::string(info(format_of(problem)).name) + ", legal " + legal);
  }
  if (const std::string why = kernel.unsupported(problem); !why.empty()) {
    throw UsageError("kernel " + id + ": " + why);
  }
  if (const AttentionProblem* attention = attention_of(problem);
      attention != nullptr && !has_dense_features(*attention)) {
    return run(kernel, with_dense_features(problem), options);
  }
  if (kernel.foreign) return run_foreign(kernel, problem, options);
  if (options.executor == Executor::ptx && (options.shadow != nullptr || options.far_axis >= 0 || options.dose != 0))
    throw UsageError("kernel " + id + ": as PTX it has no shadow, no far copies and no dose");
  Output output;
  for (const Part part : parts(kernel.problem)) {
    output[part] = poisoned(output_format(problem, part), output_shape(problem, part));
    if (options.zeroed_outputs) std::ranges::fill(output[part].storage, std::byte{0});
  }
  Tensor workspace = workspace_of(kernel, problem);
  std::ranges::fill(workspace.storage, options.workspace_fill);
  if (options.executor == Executor::cuda) {
    run_on_cuda(kernel, problem, workspace, output);
  } else {
    run_on_cpu(kernel, problem, options, workspace, output,
               options.executor == Executor::ptx ? &ptx_target() : nullptr);
  }
  return output;
}

}  // namespace flashproof
