// What runs a kernel's PTX in place of its C++ (Executor::ptx). kernels/ptx/own has one; programs that link it set it.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/registry.h"
#include "kernels/simt/cpu/launch_target.h"

namespace flashproof {

class PtxTarget : public simt::LaunchTarget {
 public:
  /// The launches that follow are this kernel's, with its math. Throws UsageError where there is no PTX of it.
  virtual void begin(const Kernel& kernel) = 0;
  /// Memory that they may touch; `name` is for findings.
  virtual void add(void* data, std::size_t bytes, bool writable, std::string name) = 0;
};

/// `target` gives the calling thread's.
void set_ptx_target(PtxTarget& (*target)());
/// Throws InfrastructureError in a program that has none.
PtxTarget& ptx_target();

}  // namespace flashproof
