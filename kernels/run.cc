#include "kernels/run.h"

#include "kernels/guarded_buffer.h"
#include "kernels/make_args.h"
#include "kernels/run_cuda.h"
#include "kernels/simt/executor.h"
#include "reference/problem/error.h"

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

namespace {

Tensor poisoned(Format format, std::vector<std::int64_t> shape) {
  Tensor tensor = Tensor::dense(format, std::move(shape));
  const std::uint64_t poison = poison_bits(format);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.set_bits(i, poison);
  }
  return tensor;
}

}  // namespace

Tensor workspace(const Kernel& kernel, const Problem& problem) {
  const std::int64_t bytes = kernel.workspace == nullptr ? 0 : kernel.workspace(problem);
  return Tensor::dense(Format::f32, {(bytes + 3) / 4});
}

namespace {

void run_on_cpu(const Kernel& kernel, const Problem& problem, const RunOptions& options, Output& output) {
  const simt::ScopedSchedule schedule(options.schedule);
  GuardedBuffer o(output.o);
  GuardedBuffer lse(output.lse);
  Tensor space = workspace(kernel, problem);
  GuardedBuffer guarded_space(space);
  const auto place_output = [&](Tensor& tensor) -> void* { return (&tensor == &output.o ? o : lse).tensor(); };
  std::visit(
      [&](const auto& p) {
        auto args = make_args(p, output, [](const void* data, std::size_t) { return data; }, place_output);
        args.workspace = {guarded_space.tensor(), static_cast<std::int64_t>(space.storage.size())};
        std::get<void (*)(const decltype(args)&, Stream)>(kernel.launch)(args, Stream{});
      },
      problem);
  o.finish(output.o, "o");
  lse.finish(output.lse, "lse");
  guarded_space.finish(space, "the workspace");
}

}  // namespace

Output run(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  validate(problem);
  const std::string id(kernel.id);
  if (kind_of(problem) != kernel.problem) {
    throw UsageError("kernel " + id + ": takes " + std::string(name(kernel.problem)) + " problems, not " +
                     std::string(name(kind_of(problem))));
  }
  if (kernel.math == Math::native && options.executor == Executor::cpu) {
    throw UsageError("kernel " + id + ": native math runs on a GPU only");
  }
  if (!kernel.supports(format_of(problem))) {
    throw UsageError("kernel " + id + ": format " + std::string(info(format_of(problem)).name) +
                     ", legal f32, f16, bf16");
  }
  if (const std::string why = kernel.unsupported(problem); !why.empty()) {
    throw UsageError("kernel " + id + ": " + why);
  }
  const OutputShape shape = output_shape(problem);
  Output output{poisoned(format_of(problem), {shape.rows, shape.width}), poisoned(Format::f32, {shape.rows})};
  if (options.executor == Executor::cuda) {
    run_on_cuda(kernel, problem, output);
  } else {
    run_on_cpu(kernel, problem, options, output);
  }
  return output;
}

}  // namespace flashproof
