// The largest error/bound ever found, and what it takes to find it again. An entry is of a kernel, storage format and
// architecture: for one term of the bound (what attack found, on the CPU executor), or for the whole bound (of all that
// was ever run: families, shapes, gradients, GPUs). Only of what did not fail: what leaves its bound is a finding, and no
// figure of how near errors come to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/input/origin.h"
#include "fuzz/score/terms.h"
#include "reference/problem/formats.h"

namespace flashproof {

/// Why a figure is what it is; the last one is the present one.
struct LedgerChange {
  double ratio = 0;
  std::string reason;
};

struct LedgerEntry {
  std::string kernel;
  Format format = Format::f32;
  std::string architecture = "cpu";  // cpu; sm_90 (a GPU with det math, whose bits are the CPU's); sm_90.native
  std::optional<Term> term = {};     // none: the whole bound
  TermBest best = {};                // of the whole bound the ratio alone
  std::string case_line = {};
  std::vector<Mutation> mutations = {};  // of a search, from the case on
  /// Of the whole bound: SHA-1 of the case's witness file without notes (format_witness), in hex: the same inputs to the
  /// bit. Empty where the case could not be made.
  std::string sha1 = {};
  std::vector<LedgerChange> history = {};

  bool same_key(const LedgerEntry& other) const {
    return kernel == other.kernel && format == other.format && architecture == other.architecture && term == other.term;
  }
  Origin origin() const { return {parse_case_spec(case_line), mutations}; }
};

/// Does the order of ledgers put `a` first? By kernel, format, architecture and term, the whole bound before its terms.
bool entry_less(const LedgerEntry& a, const LedgerEntry& b);
/// The entry's figure as one of the whole bound.
LedgerEntry of_whole_bound(LedgerEntry entry);

/// What two builds' evaluations of one ratio may differ by, relative to it. A bound is made of sums and products of non-negative
/// doubles, so that every rounding adds at most 2^-53 to its relative error: fewer than 2^22 of them, one after another (a row of
/// 2^16 keys, 64 roundings each), twice.
inline constexpr double kBuildRounding = 0x1p-30;

/// Does the ratio beat a known one? By more than kBuildRounding of it.
bool beats(double ratio, double known);
/// The same element, its computed bits equal and its ratio within kBuildRounding of it; of a term that did not dominate only that it still
/// does not: then the ratio says nothing about it.
bool replays(const TermBest& recorded, const TermBest& measured);
/// cpu, sm_ and two or three digits with an optional letter, with an optional .native.
bool is_architecture(std::string_view text);

struct Ledger {
  std::vector<LedgerEntry> entries;  // entry_less(), none twice

  const LedgerEntry* find(std::string_view kernel, Format format, std::optional<Term> term,
                          std::string_view architecture = "cpu") const;
  /// Puts the entry in its place: a new one, or instead of the one with its key, whose history it continues. The reason
  /// is added where the ratio is not the recorded one (replays()).
  void put(LedgerEntry entry, const std::string& reason);
  /// Takes an entry of the whole bound in, with the hash of its inputs, if it beats what is known of its key or nothing is;
  /// was it taken?
  bool raise(LedgerEntry entry, const std::string& reason);
  /// Keeps the larger ratio of a key, whatever roundings differ by; no history.
  void offer(LedgerEntry entry);
  /// In place of the one with its key, as it is.
  void set(LedgerEntry entry);

 private:
  LedgerEntry* known(const LedgerEntry& entry);
};

}  // namespace flashproof
