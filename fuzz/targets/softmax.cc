// Every softmax kernel, on every family that serves it, under the laws of one run and one relating law at a time.
#include "fuzz/targets/forward.h"

namespace flashproof {

Target fuzz_target() {
  return {"softmax",         [] { return forward_subjects(ProblemKind::softmax); },
          run_forward,       minimise_run,
          problem_of_kernel, run_forward_batch};
}

}  // namespace flashproof
