#include "python/bindings/callable_kernel.h"

#include <nanobind/stl/string.h>

#include <functional>
#include <numeric>
#include <utility>

#include "python/bindings/problem_dict.h"
#include "python/bindings/shape_features.h"
#include "reference/bound/arithmetic_json.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/bound/declaration.h"
#include "reference/error/judge.h"
#include "reference/problem/error.h"
#include "reference/problem/hidden_keys.h"
#include "reference/problem/text.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

/// What Python returned of one output.
Tensor output_of(const Problem& problem, Part part, nb::handle bits) {
  const std::string what(name(part));
  Tensor tensor = tensor_of(what, output_format(problem, part), bits);
  std::vector<std::int64_t> shape = output_shape(problem, part);
  const std::int64_t expected = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  if (tensor.elements() != expected) {
    throw KernelFault("wrong_shape: " + what + " has " + std::to_string(tensor.elements()) + " elements, not " +
                      std::to_string(expected));
  }
  tensor.stride = dense_stride(shape);
  tensor.shape = std::move(shape);
  return tensor;
}

}  // namespace

CallableKernel::CallableKernel(CallableDeclaration declaration)
    : declared_(std::move(declaration)), formats_{declared_.format} {
  kernel_.id = declared_.id;
  kernel_.problem = declared_.problem;
  kernel_.form = Form::published;
  kernel_.formats = formats_;
  kernel_.contract = declared_.contract;
  if (declared_.problem == ProblemKind::backward) {
    GradientArithmetic both = gradient_preset(declared_.arithmetic, declared_.format);
    kernel_.arithmetic = both.forward;
    kernel_.backward_one_of = std::move(both.backward);
    kernel_.own_forward = true;
  } else {
    kernel_.arithmetic = parse_arithmetic(declared_.arithmetic, declared_.problem, declared_.format);
  }
  kernel_.unsupported =
      Refusal([this](const Problem& problem) { return refusal(problem); }, features_among(declared_.takes));
  kernel_.launch = static_cast<void (*)(const SoftmaxArgs&, Stream)>(nullptr);
  kernel_.foreign = [this](const Problem& problem, const RunOptions& options) { return run(problem, options); };
}

std::string CallableKernel::refusal(const Problem& problem) {
  if (!lost_.empty()) return "the device was lost: " + lost_;
  if (over_ && over_()) return "the time is over";
  std::string why = beyond_shape(problem, declared_.takes);
  // What the declared arithmetic has no meaning for has no bound.
  if (const auto* attention = std::get_if<AttentionProblem>(&problem);
      attention != nullptr && why.empty() && kernel_.arithmetic.unit == ScoreUnit::raw) {
    why = raw_scores_refused(*attention);
  }
  if (why.empty() && !declared_.contract.isolates_hidden) why = needs_isolation(problem);
  const auto* masked = std::get_if<AttentionProblem>(&problem);
  if (why.empty() && masked != nullptr && masked->top_left && masked->has_alibi())
    why = "alibi: legal with semantics: diagonal: bottom_right, from where its distances count";
  if (!why.empty() || declared_.refuses.is_none()) return why;
  const nb::gil_scoped_acquire lock;
  try {
    const nb::object said = declared_.refuses(to_dict(problem));
    return said.is_none() ? std::string() : one_line(nb::cast<std::string>(said));
  } catch (const nb::python_error& raised) {
    end_run(raised);  // a defect of the user's own predicate, or Ctrl-C
  }
}

void CallableKernel::interrupt(const nb::python_error& raised) {
  ctrl_c_ = raised.matches(PyExc_KeyboardInterrupt);
  interrupt_ = std::current_exception();
}

void CallableKernel::end_run(const nb::python_error& raised) {
  interrupt(raised);
  throw Interrupted("the run was ended from Python");
}

Output CallableKernel::run(const Problem& problem, const RunOptions& options) {
  Output output;
  {
    const nb::gil_scoped_acquire lock;
    try {
      const auto result = nb::cast<nb::tuple>(declared_.call(to_arguments(problem), options.guard_inputs));
      const auto status = nb::cast<std::string>(result[0]);
      if (status == "lost") lost_ = one_line(nb::cast<std::string>(result[1]));
      if (status != "ok") throw KernelFault(one_line(nb::cast<std::string>(result[1])));
      std::size_t next = 1;
      for (const Part part : parts(kernel_.problem)) {
        if (returned(kernel_.contract, part)) output[part] = output_of(problem, part, result[next]);
        ++next;
      }
    } catch (const nb::python_error& raised) {
      end_run(raised);
    }
  }
  for (const Part part : parts(kernel_.problem)) {
    if (!returned(kernel_.contract, part))
      output[part] = poisoned(output_format(problem, part), output_shape(problem, part));
  }
  return output;
}

bool CallableKernel::interrupted() {
  if (interrupt_) return true;
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return false;
  try {
    nb::raise_python_error();
  } catch (const nb::python_error& raised) {
    interrupt(raised);
  }
  return true;
}

void CallableKernel::rethrow_interrupt() {
  const std::exception_ptr raised = std::exchange(interrupt_, nullptr);
  if (raised && !ctrl_c_) std::rethrow_exception(raised);
}

}  // namespace flashproof::python
