#include "reports/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/detail/sha1.hpp>
#include <cmath>
#include <tuple>

#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

auto key(const LedgerEntry& e) {
  return std::tuple<std::string_view, Format, std::string_view, std::optional<Term>>(e.kernel, e.format, e.architecture,
                                                                                     e.term);
}

std::string sha1(const std::vector<std::byte>& bytes) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(bytes.data(), bytes.size());
  unsigned int digest[5];
  hash.get_digest(digest);
  return fmt::format("{:08x}{:08x}{:08x}{:08x}{:08x}", digest[0], digest[1], digest[2], digest[3], digest[4]);
}

/// Of the inputs that the case stands for; empty if its family does not make it (any more).
std::string hash_of(const LedgerEntry& e) {
  try {
    const Origin origin = e.origin();
    return sha1(format_witness({{origin.spec, origin.make()}, {}}));
  } catch (const UsageError&) {
    return "";
  }
}

}  // namespace

bool entry_less(const LedgerEntry& a, const LedgerEntry& b) { return key(a) < key(b); }

LedgerEntry of_whole_bound(LedgerEntry entry) {
  entry.term = std::nullopt;
  entry.best = {.ratio = entry.best.ratio};
  entry.history.clear();
  return entry;
}

bool beats(double ratio, double known) { return ratio > known * (1 + kBuildRounding); }

bool replays(const TermBest& recorded, const TermBest& measured) {
  if (recorded.dominates() != measured.dominates()) return false;
  return !recorded.dominates() ||
         (recorded.bits == measured.bits && recorded.row == measured.row && recorded.column == measured.column &&
          std::fabs(recorded.ratio - measured.ratio) <= kBuildRounding * recorded.ratio);
}

bool is_architecture(std::string_view text) {
  if (text == "cpu") return true;
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  if (text.ends_with(".native")) text.remove_suffix(7);
  if (text.ends_with('a')) text.remove_suffix(1);
  return text.size() >= 2 && text.size() <= 3 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

const LedgerEntry* Ledger::find(std::string_view kernel, Format format, std::optional<Term> term,
                                std::string_view architecture) const {
  const auto wanted = std::tuple(kernel, format, architecture, term);
  const auto at = std::lower_bound(entries.begin(), entries.end(), wanted,
                                   [](const LedgerEntry& e, const auto& k) { return key(e) < k; });
  return at != entries.end() && key(*at) == wanted ? &*at : nullptr;
}

LedgerEntry* Ledger::known(const LedgerEntry& entry) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), entry, entry_less);
  return at != entries.end() && at->same_key(entry) ? &*at : nullptr;
}

void Ledger::set(LedgerEntry entry) {
  if (LedgerEntry* old = known(entry)) {
    *old = std::move(entry);
  } else {
    entries.insert(std::lower_bound(entries.begin(), entries.end(), entry, entry_less), std::move(entry));
  }
}

void Ledger::put(LedgerEntry entry, const std::string& reason) {
  const LedgerEntry* old = known(entry);
  entry.history = old != nullptr ? old->history : std::vector<LedgerChange>{};
  if (old == nullptr || !replays(old->best, entry.best)) entry.history.push_back({entry.best.ratio, reason});
  set(std::move(entry));
}

bool Ledger::raise(LedgerEntry entry, const std::string& reason) {
  const LedgerEntry* old = known(entry);
  if (old != nullptr && !beats(entry.best.ratio, old->best.ratio)) return false;
  entry.sha1 = hash_of(entry);
  entry.history = old != nullptr ? old->history : std::vector<LedgerChange>{};
  entry.history.push_back({entry.best.ratio, reason});
  set(std::move(entry));
  return true;
}

void Ledger::offer(LedgerEntry entry) {
  const LedgerEntry* old = known(entry);
  if (old == nullptr || entry.best.ratio > old->best.ratio) set(std::move(entry));
}

}  // namespace flashproof
