#include "reports/attack/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "properties/generators/family.h"
#include "reference/problem/error.h"
#include "reference/problem/read_file.h"
#include "reference/problem/strict_json.h"
#include "reference/problem/text.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

auto key(const LedgerEntry& e) { return std::tuple<std::string_view, Format, Term>(e.kernel, e.format, e.term); }

Json json_of(const LedgerEntry& e) {
  Json history = Json::array();
  for (const LedgerChange& c : e.history) history.push_back({{"ratio", c.ratio}, {"reason", c.reason}});
  return {{"kernel", e.kernel},
          {"format", std::string(info(e.format).name)},
          {"term", std::string(name(e.term))},
          {"ratio", e.best.ratio},
          {"share", e.best.share},
          {"row", e.best.row},
          {"column", e.best.column},
          {"computed", fmt::format("0x{:x}", e.best.bits)},
          {"case", to_string(e.origin.spec)},
          {"mutations", to_text(e.origin.mutations)},
          {"history", history}};
}

std::uint64_t hex(const std::string& text) {
  if (!text.starts_with("0x") || text.size() > 18 || text.size() < 3 ||
      text.find_first_not_of("0123456789abcdef", 2) != std::string::npos) {
    throw UsageError("computed " + quote(text) + ": must be 0x and 1 to 16 lowercase hex digits");
  }
  return std::stoull(text, nullptr, 16);
}

double fraction(const Json& json, const char* field) {
  const double value = json.at(field).get<double>();
  if (!(value >= 0) || !std::isfinite(value)) throw UsageError(fmt::format("{}: must be finite and at least 0", field));
  return value;
}

std::int64_t place(const Json& json, const char* field) {
  const Json& value = json.at(field);  // the conversion of a number that does not fit is undefined
  constexpr std::uint64_t kMost = 0x7fffffff;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
    throw UsageError(fmt::format("{}: must be an integer in 0..{}", field, kMost));
  }
  return value.get<std::int64_t>();
}

LedgerEntry entry_of(const Json& json) {
  LedgerEntry e;
  e.kernel = shown_as_it_is(json.at("kernel").get<std::string>(), "kernel");
  const auto format = parse_format(json.at("format").get<std::string>());
  if (!format) throw UsageError("format: unknown");
  e.format = *format;
  e.term = parse_term(json.at("term").get<std::string>());
  e.best = {fraction(json, "ratio"), fraction(json, "share"), place(json, "row"), place(json, "column"),
            hex(json.at("computed").get<std::string>())};
  e.origin.spec = parse_case_spec(json.at("case").get<std::string>());
  e.origin.mutations = parse_mutations(json.at("mutations").get<std::string>());
  for (const Json& change : json.at("history")) {
    e.history.push_back({fraction(change, "ratio"), shown_as_it_is(change.at("reason").get<std::string>(), "reason")});
  }
  return e;
}

}  // namespace

bool replays(const TermBest& recorded, const TermBest& measured) {
  if (recorded.dominates() != measured.dominates()) return false;
  return !recorded.dominates() ||
         (recorded.bits == measured.bits && recorded.row == measured.row && recorded.column == measured.column &&
          std::fabs(recorded.ratio - measured.ratio) <= 1e-9);
}

Problem data_of(const LedgerEntry& entry, const Kernel& kernel) {
  Problem problem = entry.origin.make();
  const auto refuse = [&](const std::string& why) {
    throw UsageError("ledger: " + entry.kernel + " does not take " + to_string(entry.origin.spec) + ": " + why);
  };
  if (kind_of(problem) != kernel.problem) refuse("it is a kernel for " + std::string(name(kernel.problem)));
  if (format_of(problem) != entry.format) refuse("the entry is of " + std::string(info(entry.format).name));
  if (const std::string why = kernel.unsupported(problem); !why.empty()) refuse(why);
  return problem;
}

TermBest replay(const LedgerEntry& entry) {
  const Kernel* kernel = find_kernel(entry.kernel);
  if (kernel == nullptr) throw UsageError("ledger: kernel " + quote(entry.kernel) + " does not exist");
  return measure(*kernel, data_of(entry, *kernel), Precision::record).best[static_cast<std::size_t>(entry.term)];
}

void Ledger::put(LedgerEntry entry, const std::string& reason) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), entry,
                                   [](const LedgerEntry& a, const LedgerEntry& b) { return key(a) < key(b); });
  const bool known = at != entries.end() && at->same_key(entry);
  if (known) entry.history = at->history;
  if (!known || !replays(at->best, entry.best)) entry.history.push_back({entry.best.ratio, reason});
  if (known) {
    *at = std::move(entry);
  } else {
    entries.insert(at, std::move(entry));
  }
}

const LedgerEntry* Ledger::find(std::string_view kernel, Format format, Term term) const {
  for (const LedgerEntry& e : entries) {
    if (e.kernel == kernel && e.format == format && e.term == term) return &e;
  }
  return nullptr;
}

std::string ledger_text(const Ledger& ledger) {
  Json json{{"schema", "flashproof.ledger/1"},
            {"shape", "attention: 256 keys, d = dv = 64; softmax: 512 columns; merge: 16 states; every entry finite"},
            {"ratio", "(|error| - radius of the truth) / (bound + rounding into the storage format), of the element"},
            {"entries", Json::array()}};
  for (const LedgerEntry& e : ledger.entries) json["entries"].push_back(json_of(e));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string shown_as_it_is(std::string text, std::string_view what) {
  if (text == one_line(text)) return text;
  throw UsageError(fmt::format("{}: {}: must be one line without controls of a terminal or of the direction of text",
                               what, quote(text)));
}

std::string json_complaint(int id, std::string_view what) {
  constexpr int kNumberOverflow = 406;  // its text repeats the number, however long
  return id == kNumberOverflow ? "a number is beyond the range of a double" : printable(what, 120);
}

Ledger parse_ledger(std::string_view text, const std::string& name) {
  Ledger ledger;
  try {
    const Json json = strict_json<Json>(text);
    if (json.at("schema") != "flashproof.ledger/1") throw UsageError("schema: must be flashproof.ledger/1");
    for (const Json& e : json.at("entries")) ledger.entries.push_back(entry_of(e));
  } catch (const Json::exception& e) {
    throw UsageError(name + ": " + json_complaint(e.id, e.what()));
  } catch (const UsageError& e) {
    throw UsageError(name + ": " + e.what());
  }
  for (std::size_t i = 1; i < ledger.entries.size(); ++i) {
    if (!(key(ledger.entries[i - 1]) < key(ledger.entries[i]))) {
      throw UsageError(name + ": entries must be sorted by kernel, format and term, none twice");
    }
  }
  return ledger;
}

std::string read_ledger_file(const std::filesystem::path& path) { return read_file(path, 64 << 20); }

Ledger read_ledger(const std::filesystem::path& path, bool may_be_missing) {
  std::error_code error;
  if (may_be_missing && !std::filesystem::exists(path, error) && !error) return {};
  return parse_ledger(read_ledger_file(path), one_line(path.string()));
}

std::string entry_line(const LedgerEntry& entry) {
  return json_of(entry).dump(-1, ' ', true, Json::error_handler_t::replace);
}

LedgerEntry parse_entry_line(std::string_view line) {
  try {
    return entry_of(strict_json<Json>(line));
  } catch (const UsageError& e) {
    throw UsageError(std::string("ledger entry: ") + e.what());
  } catch (const Json::exception& e) {
    throw UsageError("ledger entry: " + json_complaint(e.id, e.what()));
  }
}

std::string ledger_table(const Ledger& ledger) {
  std::size_t label = 6;
  for (const LedgerEntry& e : ledger.entries) label = std::max(label, e.kernel.size());
  std::string out = fmt::format("{} {:<5}", pad("kernel", label), "fmt");
  for (std::size_t t = 0; t < kTerms; ++t) out += fmt::format(" {:>15}", name(static_cast<Term>(t)));
  out += fmt::format(" {:>8}\n", "best");
  for (auto at = ledger.entries.begin(); at != ledger.entries.end();) {
    const std::string kernel = at->kernel;
    const Format format = at->format;
    out += fmt::format("{} {:<5}", pad(kernel, label), info(format).name);
    double best = 0;
    for (std::size_t t = 0; t < kTerms; ++t) {
      const bool there = at != ledger.entries.end() && at->kernel == kernel && at->format == format &&
                         at->term == static_cast<Term>(t);
      std::string cell = "-";
      if (there && at->best.dominates()) {
        best = std::max(best, at->best.ratio);
        cell = short_number(at->best.ratio) + (at->best.ratio < kTermTarget ? " loose" : "");
      } else if (there) {
        cell = fmt::format("share {:.2f}", at->best.share);
      }
      out += fmt::format(" {:>15}", cell);
      if (there) ++at;
    }
    out += fmt::format(" {:>8}\n", short_number(best) + (best < kKernelTarget ? " !" : ""));
  }
  out += fmt::format(
      "largest error/bound of an element of which the term is at least {:.0f} % of the bound; loose: below {}; share: "
      "the "
      "term never dominated, the largest share met; !: below {}\n",
      100 * kDominates, kTermTarget, kKernelTarget);
  return out;
}

}  // namespace flashproof
