// Attention without softcap, one row at a time, in double-double.
#pragma once

#include <memory>

#include "reference/oracle/double_double/double_double_tier.h"

namespace flashproof {

/// The problem must outlive the tier.
std::unique_ptr<RowTier> dd_attention(const AttentionProblem& problem, const DdOptions& options);
std::int64_t dd_attention_bytes(const AttentionProblem& problem, const DdOptions& options);

}  // namespace flashproof
