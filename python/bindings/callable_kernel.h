// A Python callable as a kernel: registry.h's ForeignRun and Refusal, through what Python is asked.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "python/bindings/door.h"

namespace flashproof::python {

/// Asks Python {"ask": "call", "guard", "problem"}, of which the reply is ["ok", o, lse] or ["ok", dq, dk, dv] with null for what the
/// callable does not return, or ["fault" or "lost", text]; "refuses" with "problem": null or a text; "progress"; "signals".
class CallableKernel {
 public:
  /// declared: "id", "problem", "format", "returns", "takes" (shape_features.h). If given: "arithmetic", a preset's name or JSON
  /// (reference/bound/declare/arithmetic_json.h), of a gradient as parse_gradient_arithmetic() takes it; "semantics"; the promises, as check() of Python
  /// names them; "refuses": there is a predicate to be asked about every problem; "progress": it is to be told. Throws UsageError for
  /// what it gets wrong. `python` must outlive it.
  CallableKernel(const Json& declared, const Python& python);
  CallableKernel(const CallableKernel&) = delete;
  CallableKernel& operator=(const CallableKernel&) = delete;

  /// Points to this object, which must outlive it.
  const KernelDeclaration& declaration() const { return kernel_; }
  /// Empty, or why the device answers nothing any more: every problem is refused from here on, and a run should stop.
  const std::string& lost() const { return lost_; }
  /// From now on every problem is refused once this is true; empty: none is.
  void refuse_when(std::function<bool()> over) { over_ = std::move(over); }
  /// Python has raised something that is no fault of the callable, such as Ctrl-C: the run ends with what there is.
  bool ended() const { return ended_; }
  /// The same, but looks for signals first.
  bool interrupted();
  void show_progress(std::uint64_t done, std::uint64_t total, std::string_view what);

 private:
  Output run(const Problem& problem, const RunOptions& options);
  std::string refusal(const Problem& problem);
  /// Throws Interrupted where there is no reply.
  void ask(const std::string& question, const std::function<void(const Json&)>& heard);

  const Python& python_;
  std::string id_;
  Format formats_[1];
  std::vector<std::string> takes_;
  bool refuses_, shows_progress_;
  KernelDeclaration kernel_;
  std::string lost_;
  std::function<bool()> over_;
  bool ended_ = false;
};

}  // namespace flashproof::python
