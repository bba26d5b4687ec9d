#include "fuzz/input/origin.h"

#include "properties/generators/family.h"
#include "properties/generators/gradient_case.h"

namespace flashproof {

Problem Origin::make() const {
  if (spec.problem == ProblemKind::backward) {
    // o and lse are those of the changed forward problem.
    return make_gradient_case(spec,
                              [this](Problem& forward) {
                                for (const Mutation& m : mutations) mutate(forward, m);
                              })
        .problem;
  }
  Problem problem = make_case(spec).problem;
  for (const Mutation& m : mutations) mutate(problem, m);
  return problem;
}

}  // namespace flashproof
