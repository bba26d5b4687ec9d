// For the tests of this folder: every row of a problem through the tier, against reference<Real> at 300 digits.
#pragma once

#include "reference/oracle/double_double/double_double_tier.h"

namespace flashproof::test {

struct Findings {
  int elements = 0, violations = 0, wrong_class = 0;
  int unbounded = 0;   // radius +inf
  double worst_o = 0;  // largest true error over radius; elements without a radius are left out
  double worst_lse = 0;
};

Findings judge_rows(const Problem& problem, Tier tier, const DdOptions& options = {});

}  // namespace flashproof::test
