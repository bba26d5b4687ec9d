// The largest error/bound ever found per kernel, format and term, with what it takes to find it again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/input/origin.h"
#include "reference/problem/case.h"
#include "reports/attack/measure.h"

namespace flashproof {

/// Why a figure of the ledger is what it is; the last one is the present one.
struct LedgerChange {
  double ratio = 0;
  std::string reason;
};

struct LedgerEntry {
  std::string kernel;
  Format format = Format::f32;
  Term term = Term::o_weights;
  TermBest best;
  Origin origin;
  std::vector<LedgerChange> history;

  bool same_key(const LedgerEntry& other) const {
    return kernel == other.kernel && format == other.format && term == other.term;
  }
};

struct Ledger {
  std::vector<LedgerEntry> entries;  // by kernel, format, term

  /// Puts the entry in its place: a new one, or instead of the one with its key, whose history it continues. The reason
  /// is added where the ratio is not the recorded one (replays()).
  void put(LedgerEntry entry, const std::string& reason);
  const LedgerEntry* find(std::string_view kernel, Format format, Term term) const;
};

/// The same element, its computed bits equal and its ratio within 1e-9; of a term that did not dominate only that it still
/// does not: then the ratio says nothing about it.
bool replays(const TermBest& recorded, const TermBest& measured);

/// The entry's data for its kernel. Throws UsageError if the recipe cannot be made, is of another kind of problem or in
/// another format than the entry says, or if the kernel does not take it.
Problem data_of(const LedgerEntry& entry, const Kernel& kernel);
/// The entry's term, measured again now. Throws UsageError if the kernel is gone, and what data_of throws.
TermBest replay(const LedgerEntry& entry);

/// JSON of schema flashproof.ledger/1, and back. parse throws UsageError "<name>: <what>" on anything malformed.
std::string ledger_text(const Ledger& ledger);
/// The text, if it is one line that can be shown as it is: names and reasons go to terminals. Throws UsageError "<what>: ...".
std::string shown_as_it_is(std::string text, std::string_view what);
/// What nlohmann's exception says of a ledger, in one short line that repeats no number of it.
std::string json_complaint(int id, std::string_view what);
Ledger parse_ledger(std::string_view text, const std::string& name);
/// may_be_missing: an empty ledger if there is no such file. Throws UsageError for a malformed one, one larger than 64 MiB and what is
/// no regular file, InfrastructureError if it cannot be read.
Ledger read_ledger(const std::filesystem::path& path, bool may_be_missing = false);

/// Throws UsageError for what is no regular file or larger than 64 MiB, InfrastructureError if it cannot be read.
std::string read_ledger_file(const std::filesystem::path& path);

/// One entry as one line, for a pipe.
std::string entry_line(const LedgerEntry& entry);
LedgerEntry parse_entry_line(std::string_view line);

inline constexpr double kKernelTarget = 0.3, kTermTarget = 0.1;
/// A table for people: ratios, what is loose, what never dominates.
std::string ledger_table(const Ledger& ledger);

}  // namespace flashproof
