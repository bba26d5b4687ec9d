// A Python callable that returns dq, dk and dv of attention, as something to run on backward problems. As CallableKernel.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <vector>

#include "kernels/run.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/problem/backward.h"

namespace flashproof::python {

/// What Python says of a callable (flashproof/_gradients.py).
struct GradientDeclaration {
  std::string id;
  Format format = Format::f32;
  std::string arithmetic;  // a preset's name (gradient_presets())
  bool deterministic = true;
  Overflow overflow = Overflow::ieee;
  std::vector<std::string> takes;  // shape_features.h
  nanobind::object call;           // (dict, guard_inputs) -> (status, dq, dk, dv)
  nanobind::object refuses;        // (dict) -> str, or None
};

class CallableGradient {
 public:
  /// Throws UsageError for what the declaration gets wrong. The interpreter's lock must be held.
  explicit CallableGradient(GradientDeclaration declaration);
  CallableGradient(const CallableGradient&) = delete;
  CallableGradient& operator=(const CallableGradient&) = delete;

  const GradientDeclaration& declaration() const { return declared_; }
  const GradientArithmetic& arithmetic() const { return arithmetic_; }
  Contract contract() const;
  /// Why the callable is not asked this problem, in one line; empty if it is. Takes the interpreter's lock.
  std::string refusal(const BackwardProblem& problem);
  /// The inputs are watched for writes. Takes the interpreter's lock. Throws KernelFault for what the callable does wrong,
  /// InfrastructureError where something waits in rethrow_interrupt().
  Output run(const BackwardProblem& problem);
  /// As CallableKernel's.
  bool lost() const { return !lost_.empty(); }
  bool interrupted();
  void rethrow_interrupt();

 private:
  GradientDeclaration declared_;
  GradientArithmetic arithmetic_;
  std::vector<Feature> features_;
  std::string lost_;
  std::exception_ptr interrupt_;
};

}  // namespace flashproof::python
