// An entry of the ledger, measured again.
#pragma once

#include "kernels/registry.h"
#include "reference/problem/problems.h"
#include "reports/ledger/ledger.h"

namespace flashproof {

/// The entry's data for its kernel. Throws UsageError if the recipe cannot be made, is of another kind of problem or in
/// another format than the entry says, or if the kernel does not take it.
Problem data_of(const LedgerEntry& entry, const Kernel& kernel);
/// The entry's term, measured again now. Throws UsageError if the kernel is gone, for an entry of the whole bound, and
/// what data_of throws.
TermBest replay(const LedgerEntry& entry);

}  // namespace flashproof
