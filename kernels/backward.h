// Kernels of the gradient: what they declare, which there are, and one of them run on one problem. As registry.h and
// run.h are for the forward problems; the two share forms, contracts, executors, poison and guard zones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/args.h"
#include "kernels/registry.h"
#include "kernels/run.h"
#include "reference/bound/backward/arithmetic.h"
#include "reference/error/contract.h"
#include "reference/problem/backward.h"

namespace flashproof {

using BackwardLaunch = void (*)(const BackwardArgs&, Stream);

/// What a kernel file says about one kernel; compiled once per executor, equal but for the launch function.
struct BackwardDeclaration {
  std::string_view id;  // attention_backward.algorithm.form, or attention_backward.broken.defect
  Form form;
  std::span<const Format> formats;  // of q, k, v, dO and the gradients; o may have any storage format
  Contract contract;
  BackwardArithmetic arithmetic;   // with P and dS in f32, if they are
  bool weights_as_stored = false;  // P and dS are rounded to the format of q
  /// Empty if the kernel takes this valid problem, else why not, naming the argument and the legal range.
  std::string (*unsupported)(const BackwardProblem&);
  BackwardLaunch launch;
  std::int64_t (*workspace)(const BackwardProblem&) = nullptr;  // as in KernelDeclaration
};

struct BackwardKernel : BackwardDeclaration {
  bool has_cuda = false;
  BackwardLaunch cuda_launch = nullptr;
  bool has_native = false;
  BackwardLaunch native_launch = nullptr;
  Math math = Math::det;               // as in Kernel
  const SeededFault* fault = nullptr;  // as in Kernel

  bool supports(Format format) const;
  /// Of a run on this format.
  BackwardArithmetic arithmetic_for(Format format) const;
};

/// Every kernel, in id order.
std::span<const BackwardKernel> backward_kernels();
/// Null if there is none of that id.
const BackwardKernel* find_backward_kernel(std::string_view id);

/// Throws as run() does. What the forward kernel left in o and lse is read as it is, in both modes.
Gradients run(const BackwardKernel& kernel, const BackwardProblem& problem, const RunOptions& options = {});

}  // namespace flashproof
