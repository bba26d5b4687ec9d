#include "fuzz/score/elite_score.h"

#include "properties/generators/gradient_case.h"

namespace flashproof {

std::optional<Score> score(const EliteLine& line) {
  if (const BackwardKernel* gradient = find_backward_kernel(line.kernel)) {
    FuzzInput input;
    input.origin = line.origin;
    return score(*gradient, gradient_case_of(input).problem, {});
  }
  const Kernel* kernel = find_kernel(line.kernel);
  if (kernel == nullptr) return std::nullopt;
  return score(*kernel, {line.origin.spec, line.origin.make()}, {});
}

}  // namespace flashproof
