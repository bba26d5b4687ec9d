// This project's own kernels as PTX: nvcc's translation of a kernel's source, whose entries are found by the names of the host functions that
// the fibers would run. Race-checked, as every launch of PTX is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/ptx/run/program.h"
#include "kernels/run/ptx_target.h"
#include "reference/system/error.h"

namespace flashproof::ptx {

/// A launch of a kernel that no file has, or that has instructions which are not known here.
struct NoSuchEntry : InfrastructureError {
  using InfrastructureError::InfrastructureError;
};

/// Used by one thread.
class OwnKernels : public PtxTarget {
 public:
  /// From every .ptx file of the folder; empty: nvcc compiles a kernel's source when it is run first, or the cache has it.
  explicit OwnKernels(const std::string& folder = "");

  void begin(const Kernel& kernel) override;
  void add(void* data, std::size_t bytes, bool writable, std::string name) override;
  /// Throws KernelFault for what the launch finds and for one that CUDA would refuse; NoSuchEntry.
  void launch(const simt::LaunchRequest& request) override;

  std::size_t entries() const { return modules_.size(); }
  std::uint64_t instructions() const { return instructions_; }

 private:
  void take(const std::shared_ptr<const Module>& module);

  const bool compiles_;
  std::map<std::string, std::shared_ptr<const Module>> modules_;  // by entry
  std::map<std::string, Program> programs_;
  std::vector<Array> arrays_;
  std::string space_;  // of the kernel that is run, as a mangled name has it
  std::uint64_t instructions_ = 0;
};

/// From now on run() has Executor::ptx. The program must export its symbols (CMake: ENABLE_EXPORTS).
void execute_own_kernels();

/// Why this machine cannot: no nvcc, no libLLVM, no sources; PTX is made of the sources as they are now. Empty: it can.
std::string without_own_kernels();

/// The PTX of these kernels, so that no run waits for nvcc: `jobs` sources at once. Throws what read_module() throws.
void compile_own_kernels(std::span<const Kernel* const> kernels, int jobs,
                         const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace flashproof::ptx
