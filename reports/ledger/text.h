// The ledger as text: one line an entry, its fields between tabs, in the order of its keys. What the columns are stands in
// README.md and in the first lines of every file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "reports/ledger/ledger.h"

namespace flashproof {

/// The text of a file, and back: the same entries to the last bit. Throws UsageError "<name>:<line>: <field>: <what is legal>" for
/// anything malformed; for a ledger of an earlier version one that names the version.
std::string ledger_text(const Ledger& ledger);
Ledger parse_ledger(std::string_view text, const std::string& name);

/// may_be_missing: an empty ledger if there is no such file. Throws what parse_ledger and read_ledger_file throw.
Ledger read_ledger(const std::filesystem::path& path, bool may_be_missing = false);
/// The text alone. Throws UsageError for what is no regular file or larger than 64 MiB, InfrastructureError if it cannot be read.
std::string read_ledger_file(const std::filesystem::path& path);

/// One entry, not ended, also for a pipe. Throws UsageError "ledger entry: <field>: <what is legal>".
std::string entry_line(const LedgerEntry& entry);
LedgerEntry parse_entry_line(std::string_view line);

/// Does the text begin as a ledger does, of this version or not?
bool is_ledger(std::string_view text);
/// For figures from elsewhere that are to become entries. Throw UsageError "kernel: ..." and "case: ..." for what no ledger takes.
std::string checked_kernel(std::string_view text);
std::string checked_case(std::string_view line, std::optional<Term> term);

}  // namespace flashproof
