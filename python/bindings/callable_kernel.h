// A Python callable as a kernel: registry.h's ForeignRun and Refusal, with the interpreter's lock taken for as long as it runs.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/run.h"

namespace flashproof::python {

/// What Python says of a callable (flashproof/_check.py).
struct CallableDeclaration {
  std::string id;
  ProblemKind problem = ProblemKind::attention;
  Format format = Format::f32;
  std::string
      arithmetic;  // a preset's name or JSON (reference/bound/arithmetic_json.h); of a gradient a name (gradient_presets())
  Contract contract;
  std::vector<std::string> takes;  // shape_features.h
  nanobind::object call;           // (dict, guard_inputs) -> (status, o, lse) or (status, dq, dk, dv): see run()
  nanobind::object refuses;        // (dict) -> str, or None
};

class CallableKernel {
 public:
  /// Throws UsageError for what the declaration gets wrong. The interpreter's lock must be held.
  explicit CallableKernel(CallableDeclaration declaration);
  CallableKernel(const CallableKernel&) = delete;
  CallableKernel& operator=(const CallableKernel&) = delete;

  /// Points to this object, which must outlive it.
  const KernelDeclaration& declaration() const { return kernel_; }
  /// Empty, or why the device answers nothing any more: every problem is refused from here on, and a run should stop.
  const std::string& lost() const { return lost_; }
  /// From now on every problem is refused once this is true; empty: none is.
  void refuse_when(std::function<bool()> over) { over_ = std::move(over); }
  /// Asks for signals too. True: something was raised that is no Exception, or by `refuses`.
  bool interrupted();
  /// The run is to end, since this was raised; to be called where it is caught, with the interpreter's lock held.
  void interrupt(const nanobind::python_error& raised);
  /// It was Ctrl-C: the run ends with what there is.
  bool ctrl_c() const { return ctrl_c_; }
  /// All but Ctrl-C, with the interpreter's lock held.
  void rethrow_interrupt();

 private:
  Output run(const Problem& problem, const RunOptions& options);
  std::string refusal(const Problem& problem);
  /// interrupt(), then throws Interrupted.
  [[noreturn]] void end_run(const nanobind::python_error& raised);

  CallableDeclaration declared_;
  Format formats_[1];
  KernelDeclaration kernel_;
  std::string lost_;
  std::function<bool()> over_;
  std::exception_ptr interrupt_;
  bool ctrl_c_ = false;
};

}  // namespace flashproof::python
