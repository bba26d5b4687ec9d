// This project's own kernels, launched as PTX: nvcc's translation of the same source, found by the name of the host function.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ptx/run/program.h"
#include "kernels/registry.h"
#include "kernels/simt/cpu/launch_target.h"
#include "reference/problem/problems.h"

namespace flashproof::ptx {

/// Thrown by a launch of a kernel that no file has, or that has instructions which are not known here.
struct NoSuchEntry : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A launch that ended with a finding.
struct LaunchFinding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class TwinTarget : public simt::LaunchTarget {
 public:
  /// Every .ptx file of the folder.
  explicit TwinTarget(const std::string& folder);

  void launch(const simt::LaunchRequest& request) override;

  /// By the kernel's math. The problem's tensors are the arrays of the launch; throws what launch() throws.
  Output run(const Kernel& kernel, const Problem& problem);

  std::size_t entries() const { return modules_.size(); }
  std::uint64_t instructions() const { return instructions_; }

 private:
  std::map<std::string, std::shared_ptr<Module>> modules_;  // by entry
  std::map<std::string, Program> programs_;
  std::vector<Array> arrays_;
  std::string space_;  // of the kernel that is run, as a mangled name has it
  std::uint64_t instructions_ = 0;
};

}  // namespace flashproof::ptx
