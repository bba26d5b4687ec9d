// Entries of the ledger, measured: those that a search found, and those that stand there, again.
#pragma once

#include "fuzz/search/search.h"
#include "reports/ledger/ledger.h"

namespace flashproof {

/// The entry's data for its kernel. Throws UsageError if the recipe cannot be made, is of another kind of problem or in
/// another format than the entry says, or if the kernel does not take it.
Problem data_of(const LedgerEntry& entry, const Kernel& kernel);
/// The entry's term, measured again now: every best element's truth is narrowed until its radius is below 2^-40 of the error, or
/// no tier is left; that of a gradient is at most 2^-12 ulp of its format wide as it comes. Throws UsageError if the kernel is
/// gone, for an entry of the whole bound, and what data_of throws.
TermBest replay(const LedgerEntry& entry);
/// The search goes on from entries of its kernel and format; those that data_of refuses are left out.
void go_on_from(Search& search, const std::vector<LedgerEntry>& known);
/// What the search has for every term that occurred, measured in the same way.
std::vector<LedgerEntry> entries_of(const Search& search);

}  // namespace flashproof
