// The laws of the gradient, asked about a seeded fault.
#pragma once

#include <vector>

#include "reports/faults/kill_table.h"

namespace flashproof {

/// Every gradient law on the gradient cases of the attention families, until it rejects the kernel.
std::vector<LawOutcome> gradient_outcomes(const BackwardKernel& kernel);

}  // namespace flashproof
