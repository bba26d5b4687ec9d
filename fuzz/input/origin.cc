#include "fuzz/input/origin.h"

#include "properties/generators/family.h"

namespace flashproof {

Problem Origin::make() const {
  Problem problem = make_case(spec).problem;
  for (const Mutation& m : mutations) mutate(problem, m);
  return problem;
}

}  // namespace flashproof
