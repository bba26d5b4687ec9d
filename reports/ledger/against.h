// What runs and files measured, and how it stands to a ledger's entries of the whole bound.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/ledger/ledger.h"

namespace flashproof {

struct AgainstKnown {
  double ratio = 0;  // the largest known
  bool beaten = false;
};
/// One for each of `measured`; none where the ledger knows nothing of it.
std::vector<std::optional<AgainstKnown>> against(std::span<const LedgerEntry> measured, const Ledger& ledger);
/// One line, ended: "ledger: ..."; "" where nothing was measured.
std::string against_line(std::span<const LedgerEntry> measured, const Ledger& ledger);

/// What a file measured, by kernel, format and architecture: a report.json (families together, records that failed left
/// out) or another ledger (terms together). `gpu`: the architecture of a report's records made on a GPU; empty: such a
/// record throws UsageError, which says how to name it. Throws UsageError "<name>: <what>" for a file that is neither,
/// as read_report().
std::vector<LedgerEntry> measured_of(std::string_view text, const std::string& name, const std::string& gpu);

}  // namespace flashproof
