// The laws of the gradient, asked about a seeded fault.
#pragma once

#include <span>
#include <vector>

#include "properties/laws/law.h"
#include "reports/faults/kill_table.h"

namespace flashproof {

/// The laws on variants and on the gradient cases of the attention families, until it rejects the kernel.
/// `dose` as in RunOptions.
std::vector<LawOutcome> gradient_outcomes(const Kernel& kernel, double dose = 0,
                                          std::span<const Law* const> laws = laws_of(ProblemKind::backward));
/// Computes those cases: before processes are forked, they all have them.
void prepare_gradients();

}  // namespace flashproof
