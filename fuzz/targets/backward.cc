// Every kernel of the gradient, on the gradient cases of the attention families, under the laws of one run and every relating law.
#include "fuzz/targets/one_kernel.h"

namespace flashproof {

Target fuzz_target() {
  return {"backward", [] { return subjects_of(ProblemKind::backward); }, run_input, minimise_run, problem_of_kernel};
}

}  // namespace flashproof
