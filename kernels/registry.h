// Kernel id -> problem, formats, contract, declared arithmetic, launch functions. The list is an explicit one: every
// flashproof_kernel() line of kernels/CMakeLists.txt names a file, and the file's declarations() appear here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/args.h"
#include "kernels/refusal.h"
#include "reference/bound/backward/arithmetic.h"
#include "reference/bound/declare/arithmetic.h"
#include "reference/error/contract.h"
#include "reference/problem/problems.h"

namespace flashproof {

enum class Form : std::uint8_t { published, hardened, broken };
std::string_view name(Form form);

/// Where a kernel runs: on fibers, on a GPU, or as the PTX that nvcc makes of it, on the CPU (run/ptx_target.h).
enum class Executor : std::uint8_t { cpu, cuda, ptx };
std::string_view name(Executor executor);

/// Which exponentials, logarithms and reciprocals a kernel runs with: the deterministic ones, or the GPU's own, which the
/// CPU executor has bit for bit (simt/math.h).
enum class Math : std::uint8_t { det, native };
std::string_view name(Math math);

/// The storage formats that a scalar kernel takes; sums, maxima and lse are f32 whatever the storage.
inline constexpr Format kStorageFormats[] = {Format::f32, Format::f16, Format::bf16};

struct RunOptions;  // run.h

/// The code of a kernel that is not ours: behind the C ABI of plugin.h, or a callable of another language. Of the options it
/// follows `executor`, `workspace_fill`, `zeroed_outputs`, `guard_inputs`, `placement` and `new_process`. `problem` is valid, of the declared kind and format, and taken. Returns
/// outputs of the shapes and formats of run(); throws KernelFault for what the kernel did wrong, UsageError for what it does not
/// take, InfrastructureError for the machine.
using ForeignRun = std::function<Output(const Problem& problem, const RunOptions& options)>;

/// What a kernel file says about one kernel; compiled once per executor, equal but for the launch function.
struct KernelDeclaration {
  std::string_view id;  // problem.algorithm.form, or problem.broken.defect
  ProblemKind problem;
  Form form;
  std::span<const Format> formats;  // of x, of a merge's o, or of q; a gradient's o may have any storage format
  Contract contract;
  Arithmetic arithmetic = {};                            // of a forward problem, or of own_forward
  BackwardArithmetic backward = {};                      // of a gradient, with P and dS in f32, if they are
  bool weights_as_stored = false;                        // of a gradient: P and dS are rounded to the format of q
  std::vector<BackwardArithmetic> backward_one_of = {};  // of a foreign gradient, for all that: one of these
  bool own_forward =
      false;  // of a foreign gradient: it makes o and lse itself, as automatic differentiation does, and reads none
  /// Called before launch. A function that says why not, and in braces with it the features that are taken:
  /// `.unsupported = {tile_unsupported, {Feature::softcap}}`.
  Refusal unsupported;
  Launch launch;
  /// Bytes of workspace that the launch needs for this problem; null: none. A launch with less throws UsageError that
  /// says how many.
  std::int64_t (*workspace)(const Problem&) = nullptr;
  /// If set, run() calls this in place of launching anything; `launch` and `workspace` are null.
  ForeignRun foreign = nullptr;
};

struct SeededFault;  // broken/fault.h

struct Kernel : KernelDeclaration {
  bool has_cuda = false;
  Launch cuda_launch = {};    // meaningful if has_cuda
  bool has_native = false;    // on CUDA; the CPU executor runs every kernel with either math
  Launch native_launch = {};  // meaningful if has_native; on the GPU, too
  /// Of `arithmetic`, `cuda_launch` and the run on the CPU. kernels() are det; a native kernel is made of one and a GPU's profile.
  Math math = Math::det;
  const SeededFault* fault = nullptr;  // of Form::broken

  bool supports(Format format) const;
  /// Of a gradient, on this format: one of these, it is not known which.
  std::vector<BackwardArithmetic> backward_for(Format format) const;
};

/// Every kernel, in id order.
std::span<const Kernel> kernels();
/// Those of one problem, which stand together.
std::span<const Kernel> kernels_of(ProblemKind problem);
/// Null if there is none of that id.
const Kernel* find_kernel(std::string_view id);

}  // namespace flashproof
