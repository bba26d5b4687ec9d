// A run by one OwnKernels in particular, as of a folder of PTX.
#pragma once

#include "kernels/ptx/own/own_kernels.h"
#include "kernels/run/run.h"

namespace flashproof::ptx {

inline Output run_as_ptx(OwnKernels& target, const Kernel& kernel, const Problem& problem) {
  static OwnKernels* current = nullptr;
  current = &target;
  set_ptx_target([]() -> PtxTarget& { return *current; });
  return run(kernel, problem, {.executor = Executor::ptx});
}

}  // namespace flashproof::ptx
