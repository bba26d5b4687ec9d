// Merging of partial results in doubles with a rigorous radius for every output. Derivation: README.md, "Merge".
#pragma once

#include <cstdint>
#include <span>

#include "reference/oracle/fp64/terms.h"
#include "reference/oracle/tiers.h"

namespace flashproof {

/// As fp64_tier, for a Truth that has its size.
void fp64_merge(const MergeProblem& problem, std::span<const std::int64_t> rows, const Threads& threads, Truth& truth,
                std::span<RowCause> cause, const MergeTerms& terms = {});

}  // namespace flashproof
