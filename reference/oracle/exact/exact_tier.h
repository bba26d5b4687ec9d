// The three makers behind exact_tier() of tiers.h.
#pragma once

#include <memory>

#include "reference/oracle/tiers.h"

namespace flashproof {

std::unique_ptr<RowTier> exact_rows(const SoftmaxProblem& problem);
std::unique_ptr<RowTier> exact_rows(const MergeProblem& problem);
std::unique_ptr<RowTier> exact_rows(const AttentionProblem& problem);

}  // namespace flashproof
