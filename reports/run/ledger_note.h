// How a report stands to the worst error/bound that is known (ledger/against.h): per record, and in one line.
#pragma once

#include <string>
#include <vector>

#include "reports/ledger/ledger.h"
#include "reports/record/record.h"
#include "reports/run/sweep.h"

namespace flashproof {

/// Sets `ledger` of the records where the ledger has the kernel, format and architecture. `gpu`: sm_90, of the records made on a GPU; may be
/// empty where there are none.
void note_ledger(std::vector<Record>& records, const Ledger& ledger, const std::string& gpu);

/// The worst of each kernel, format and architecture, families together; what failed is left out.
std::vector<LedgerEntry> measured_of(const std::vector<Record>& records, const std::string& gpu);

}  // namespace flashproof
