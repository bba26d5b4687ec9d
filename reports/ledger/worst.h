// The worst error/bound ever seen of each kernel, storage format and architecture, with the case that showed it. Only of
// records that did not fail: what leaves its bound is a finding, and no figure of how near errors come to it.
//
//   architecture   cpu; sm_90 (a GPU with det math, whose bits are the CPU's); sm_90.native
//   hash           SHA-1 of the case's witness file without notes (format_witness), in hex: the same inputs to the bit.
//                  Empty where the case cannot be made any more
//   history        every ratio that it had, with the reason given when it moved; the last one is the present one
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

struct WorstChange {
  double ratio = 0;
  std::string reason = {};
};

/// Of one run: a kernel, format and architecture, and the largest ratio of all families together.
struct Measured {
  std::string kernel, format, architecture;
  double ratio = 0;
  std::string case_line, mutations;  // mutations: of a search (fuzz/input/mutation.h), else empty
};

struct WorstEntry {
  Measured worst = {};
  std::string hash = {};
  std::vector<WorstChange> history = {};
};

struct WorstLedger {
  std::vector<WorstEntry> entries;  // by kernel, format, architecture; none twice

  const WorstEntry* find(std::string_view kernel, std::string_view format, std::string_view architecture) const;
  /// Takes it in if it beats what is known of its key, or nothing is; was it taken?
  bool raise(const Measured& measured, const std::string& reason);
};

/// Does the ratio beat a known one? By more than 1e-9 of it, which is what roundings of two builds may differ by.
bool beats(double ratio, double known);

struct AgainstWorst {
  double ratio = 0;  // the best known
  bool beaten = false;
};
/// One for each of `measured`; none where the ledger knows nothing of it.
std::vector<std::optional<AgainstWorst>> against(std::span<const Measured> measured, const WorstLedger& ledger);
/// One line, ended: "ledger: ..."; "" where nothing was measured.
std::string against_line(std::span<const Measured> measured, const WorstLedger& ledger);
/// A table for people.
std::string worst_table(const WorstLedger& ledger);

/// JSON of schema flashproof.worst/1, and back. Throws UsageError "<name>: <what>" for anything malformed.
std::string worst_text(const WorstLedger& ledger);
WorstLedger parse_worst(std::string_view text, const std::string& name);
/// As read_ledger() (reports/attack/ledger.h).
WorstLedger read_worst(const std::filesystem::path& path, bool may_be_missing = false);

/// What a file measured: a report.json (families together, records that failed left out), or a ledger of `attack` (terms
/// together). `gpu`: the architecture of records made on a GPU; empty: such a record throws UsageError, which says how to
/// name it. Throws UsageError "<name>: <what>" for a file that is neither.
std::vector<Measured> measured_of(std::string_view text, const std::string& name, const std::string& gpu);
/// cpu, sm_ and two or three digits with an optional letter.
bool is_architecture(std::string_view text);

}  // namespace flashproof
