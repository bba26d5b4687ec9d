#include "fuzz/score/elite_score.h"

namespace flashproof {

std::optional<Score> score(const EliteLine& line) {
  const Kernel* kernel = find_kernel(line.kernel);
  if (kernel == nullptr) return std::nullopt;
  Origin origin = line.origin;
  // The recipe of a gradient may be written as its forward problem's.
  if (kernel->problem == ProblemKind::backward) origin.spec.problem = kernel->problem;
  return score(*kernel, {origin.spec, origin.make()}, {});
}

}  // namespace flashproof
