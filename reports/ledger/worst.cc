#include "reports/ledger/worst.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/detail/sha1.hpp>
#include <tuple>

#include "fuzz/input/origin.h"
#include "properties/generators/family.h"
#include "properties/generators/gradient_case.h"
#include "reference/problem/backward_witness.h"
#include "reference/problem/error.h"
#include "reference/problem/witness.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
Key key(const Measured& m) { return {m.kernel, m.format, m.architecture}; }

std::string sha1(const std::vector<std::byte>& bytes) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(bytes.data(), bytes.size());
  unsigned int digest[5];
  hash.get_digest(digest);
  return fmt::format("{:08x}{:08x}{:08x}{:08x}{:08x}", digest[0], digest[1], digest[2], digest[3], digest[4]);
}

/// Of the inputs that the case stands for; empty if its family does not make it (any more).
std::string hash_of(const Measured& m) {
  try {
    if (is_backward_line(m.case_line))
      return sha1(format_backward_witness({make_gradient_case(parse_backward_line(m.case_line)), {}}));
    const Origin origin{parse_case_spec(m.case_line), parse_mutations(m.mutations)};
    return sha1(format_witness({{origin.spec, origin.make()}, {}}));
  } catch (const UsageError&) {
    return "";
  }
}

}  // namespace

bool beats(double ratio, double known) { return ratio > known * (1 + 1e-9); }

const WorstEntry* WorstLedger::find(std::string_view kernel, std::string_view format,
                                    std::string_view architecture) const {
  const Key wanted{kernel, format, architecture};
  const auto at = std::lower_bound(entries.begin(), entries.end(), wanted,
                                   [](const WorstEntry& e, const Key& k) { return key(e.worst) < k; });
  return at != entries.end() && key(at->worst) == wanted ? &*at : nullptr;
}

bool WorstLedger::raise(const Measured& measured, const std::string& reason) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), key(measured),
                                   [](const WorstEntry& e, const Key& k) { return key(e.worst) < k; });
  const bool known = at != entries.end() && key(at->worst) == key(measured);
  if (known && !beats(measured.ratio, at->worst.ratio)) return false;
  WorstEntry entry{measured, hash_of(measured), known ? at->history : std::vector<WorstChange>{}};
  entry.history.push_back({measured.ratio, reason});
  if (known) {
    *at = std::move(entry);
  } else {
    entries.insert(at, std::move(entry));
  }
  return true;
}

std::vector<std::optional<AgainstWorst>> against(std::span<const Measured> measured, const WorstLedger& ledger) {
  std::vector<std::optional<AgainstWorst>> list;
  for (const Measured& m : measured) {
    const WorstEntry* known = ledger.find(m.kernel, m.format, m.architecture);
    list.emplace_back();
    if (known != nullptr) list.back() = {known->worst.ratio, beats(m.ratio, known->worst.ratio)};
  }
  return list;
}

std::string against_line(std::span<const Measured> measured, const WorstLedger& ledger) {
  if (measured.empty()) return "";
  const auto compared = against(measured, ledger);
  std::size_t fresh = 0, beaten = 0;
  std::string first;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!compared[i]) ++fresh;
    if (!compared[i] || !compared[i]->beaten) continue;
    ++beaten;
    if (!first.empty()) continue;
    first = fmt::format(", {} {} on {}: {:.6g} of its bound, known {:.6g}", measured[i].kernel, measured[i].format,
                        measured[i].architecture, measured[i].ratio, compared[i]->ratio);
  }
  return fmt::format("ledger: {} of {} kernel x format x architecture beat the worst error/bound known{}{}\n", beaten,
                     measured.size(), first, fresh > 0 ? fmt::format("; of {} nothing is known", fresh) : "");
}

std::string worst_table(const WorstLedger& ledger) {
  std::size_t kernel = 6, architecture = 4;
  for (const WorstEntry& e : ledger.entries) {
    kernel = std::max(kernel, e.worst.kernel.size());
    architecture = std::max(architecture, e.worst.architecture.size());
  }
  std::string out = fmt::format("{} {:<5} {} {:>9}  {}\n", pad("kernel", kernel), "fmt", pad("on", architecture),
                                "err/bound", "case");
  for (const WorstEntry& e : ledger.entries) {
    out += fmt::format("{} {:<5} {} {:>9}  {}{}\n", pad(e.worst.kernel, kernel), e.worst.format,
                       pad(e.worst.architecture, architecture), short_number(e.worst.ratio),
                       one_line(e.worst.case_line), e.worst.mutations.empty() ? "" : " and a search from there");
  }
  return out;
}

}  // namespace flashproof
