#include "fuzz/input/origin.h"

#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"

namespace flashproof {

Problem Origin::make() const {
  if (spec.problem == ProblemKind::backward) {
    const auto apply = [this](Problem& problem, bool to_d_out) {
      for (const Mutation& m : mutations) {
        if (((m.column & kChangesDOut) != 0) == to_d_out) mutate(problem, m);
      }
    };
    // o and lse are those of the changed forward problem.
    Problem made = make_gradient_case(spec, [&](Problem& forward) { apply(forward, false); }).problem;
    apply(made, true);
    return made;
  }
  Problem problem = make_case(spec).problem;
  for (const Mutation& m : mutations) mutate(problem, m);
  return problem;
}

}  // namespace flashproof
