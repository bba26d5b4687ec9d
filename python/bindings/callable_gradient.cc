#include "python/bindings/callable_gradient.h"

#include <nanobind/stl/string.h>

#include <utility>

#include "python/bindings/problem_dict.h"
#include "python/bindings/shape_features.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

Tensor gradient_of(std::string_view name, const Tensor& of, nb::handle bits) {
  Tensor tensor = tensor_of(name, of.format, bits);
  if (tensor.shape != of.shape) throw KernelFault("wrong_shape: " + std::string(name) + " is not shaped as its input");
  return tensor;
}

}  // namespace

CallableGradient::CallableGradient(GradientDeclaration declaration)
    : declared_(std::move(declaration)),
      arithmetic_(gradient_preset(declared_.arithmetic, declared_.format)),
      features_(features_among(declared_.takes)) {}

Contract CallableGradient::contract() const {
  Contract contract;
  contract.deterministic = declared_.deterministic;
  contract.batch_invariant = false;
  contract.overflow = declared_.overflow;
  return contract;
}

std::string CallableGradient::refusal(const BackwardProblem& problem) {
  if (lost()) return "the device was lost: " + lost_;
  if (problem.forward.q.format != declared_.format) return "format " + std::string(info(problem.forward.q.format).name);
  std::string why = beyond_shape(Problem(problem.forward), declared_.takes);
  if (const auto feature = problem.forward.beyond(features_); why.empty() && feature) {
    why = std::string(name(*feature)) + ": this callable does not take it, legal: " + std::string(absence(*feature));
  }
  // What the declared arithmetic has no meaning for has no bound.
  if (why.empty()) why = gradient_refused(problem, arithmetic_);
  if (!why.empty() || declared_.refuses.is_none()) return why;
  const nb::gil_scoped_acquire lock;
  try {
    const nb::object said = declared_.refuses(to_dict(problem));
    return said.is_none() ? std::string() : one_line(nb::cast<std::string>(said));
  } catch (const nb::python_error&) {
    interrupt_ = std::current_exception();  // a defect of the user's own predicate, or Ctrl-C: told as it is
    throw InfrastructureError("refuses: raised");
  }
}

Output CallableGradient::run(const BackwardProblem& problem) {
  const nb::gil_scoped_acquire lock;
  try {
    const auto result = nb::cast<nb::tuple>(declared_.call(to_dict(problem), true));
    const auto status = nb::cast<std::string>(result[0]);
    if (status == "lost") lost_ = one_line(nb::cast<std::string>(result[1]));
    if (status != "ok") throw KernelFault(one_line(nb::cast<std::string>(result[1])));
    const AttentionProblem& f = problem.forward;
    return {.dq = gradient_of("dq", f.q, result[1]),
            .dk = gradient_of("dk", f.k, result[2]),
            .dv = gradient_of("dv", f.v, result[3])};
  } catch (const nb::python_error&) {
    interrupt_ = std::current_exception();
    throw InfrastructureError("interrupted");
  }
}

bool CallableGradient::interrupted() {
  if (interrupt_) return true;
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return false;
  try {
    nb::raise_python_error();
  } catch (const nb::python_error&) {
    interrupt_ = std::current_exception();
  }
  return true;
}

void CallableGradient::rethrow_interrupt() {
  if (interrupt_) std::rethrow_exception(std::exchange(interrupt_, nullptr));
}

}  // namespace flashproof::python
