// Every merge kernel, on every family that serves it, under the laws of one run and one relating law at a time.
#include "fuzz/targets/forward.h"

namespace flashproof {

Target fuzz_target() {
  return {"merge",           [] { return forward_subjects(ProblemKind::merge); },
          run_forward,       minimise_run,
          problem_of_kernel, run_forward_batch};
}

}  // namespace flashproof
