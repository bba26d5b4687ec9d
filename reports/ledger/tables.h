// A ledger as tables for people.
#pragma once

#include <string>

#include "reports/ledger/ledger.h"

namespace flashproof {

inline constexpr double kKernelTarget = 0.3, kTermTarget = 0.1;
/// Entries of terms, a line a kernel and format: ratios, what is loose, what never dominates.
std::string terms_table(const Ledger& ledger);
/// Entries of the whole bound, a line each.
std::string whole_bounds_table(const Ledger& ledger);

}  // namespace flashproof
