// Every attention kernel, on every family that serves it, under the laws of one run and one relating law at a time.
#include "fuzz/targets/one_kernel.h"

namespace flashproof {

Target fuzz_target() {
  return {"attention", [] { return subjects_of(ProblemKind::attention); }, run_input, minimise_run, problem_of_kernel,
          run_inputs};
}

}  // namespace flashproof
