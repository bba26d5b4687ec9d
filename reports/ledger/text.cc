#include "reports/ledger/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::string_view kSchema = "flashproof.ledger/2";
constexpr std::string_view kHead =
    "# kernel\tformat\tarchitecture\tterm\tratio\tshare\trow\tcolumn\tcomputed\tsha1\tcase\tmutations, then ratio and "
    "reason of every change, the present last\n"
    "# term: of attention with 256 keys and d = dv = 64, gradients with 64 keys and d = dv = 32, softmax of 512 "
    "columns, merges of 16 states, every entry "
    "finite; ratio is (|error| - radius of the truth) / (bound + rounding into the storage format) of the element\n"
    "# all: of everything that a kernel, format and architecture was run on and had within its bound; sha1 is that of "
    "the case's witness file without notes\n";
constexpr std::string_view kNone = "-", kWhole = "all";
constexpr std::size_t kLongestName = 200, kSha1 = 40;

std::string or_none(std::string_view text) { return std::string(text.empty() ? kNone : text); }

/// The fields of a line, one by one.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line), more_(true) {}

  bool more() const { return more_; }
  std::string_view next(const char* field) {
    if (!more_) throw UsageError(fmt::format("{}: missing, must be the next of the fields between tabs", field));
    const std::size_t tab = rest_.find('\t');
    const std::string_view one = rest_.substr(0, tab);
    more_ = tab != std::string_view::npos;
    rest_.remove_prefix(more_ ? tab + 1 : rest_.size());
    return one;
  }
  /// "" where the line has none.
  std::string_view optional(const char* field) {
    const std::string_view one = next(field);
    if (one.empty()) throw UsageError(fmt::format("{}: empty, must be {} where there is none", field, kNone));
    return one == kNone ? std::string_view() : one;
  }

 private:
  std::string_view rest_;
  bool more_;
};

double fraction(Fields& fields, const char* field) {
  const std::string_view text = fields.next(field);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || std::signbit(value) || !std::isfinite(value)) {
    throw UsageError(fmt::format("{}: {}: must be finite and at least 0", field, quote(text)));
  }
  return value;
}

std::int64_t place(Fields& fields, const char* field) {
  constexpr std::int64_t kMost = 0x7fffffff;
  const std::string_view text = fields.next(field);
  const auto value = parse_count(text);
  if (!value || *value > kMost) {
    throw UsageError(fmt::format("{}: {}: must be an integer in 0..{}", field, quote(text), kMost));
  }
  return *value;
}

std::uint64_t hex(Fields& fields, const char* field) {
  const std::string_view text = fields.next(field);
  std::uint64_t bits = 0;
  const bool prefixed = text.starts_with("0x") && text.size() > 2 && text.size() <= 18;
  if (!prefixed || text.find_first_not_of("0123456789abcdef", 2) != std::string_view::npos) {
    throw UsageError(fmt::format("{}: {}: must be 0x and 1 to 16 lowercase hex digits", field, quote(text)));
  }
  std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  return bits;
}

/// What only entries of a term have: the element; and what only those of the whole bound have: the hash.
void read_element(Fields& fields, LedgerEntry& e) {
  if (e.term) {
    e.best.share = fraction(fields, "share");
    e.best.row = place(fields, "row");
    e.best.column = place(fields, "column");
    e.best.bits = hex(fields, "computed");
  } else {
    for (const char* field : {"share", "row", "column", "computed"}) {
      if (!fields.optional(field).empty()) throw UsageError(fmt::format("{}: must be - of the whole bound", field));
    }
  }
  e.sha1 = fields.optional("sha1");
  if (e.term && !e.sha1.empty()) throw UsageError("sha1: must be - of a term");
  if (e.sha1.find_first_not_of("0123456789abcdef") != std::string::npos ||
      (!e.sha1.empty() && e.sha1.size() != kSha1)) {
    throw UsageError(fmt::format("sha1: {}: must be {} lowercase hex digits, or -", quote(e.sha1), kSha1));
  }
}

/// Reasons go to terminals.
std::string reason_of(std::string_view text) {
  if (!text.empty() && text == one_line(text)) return std::string(text);
  throw UsageError("reason: " + quote(text) +
                   ": must be one line without controls of a terminal or of the direction of text");
}

LedgerEntry entry_of(std::string_view line) {
  Fields fields(line);
  LedgerEntry e;
  e.kernel = checked_kernel(fields.next("kernel"));
  const std::string_view format = fields.next("format");
  const auto known = parse_format(format);
  if (!known) throw UsageError("format: " + quote(format) + ": must be one that the program knows, as f32");
  e.format = *known;
  e.architecture = fields.next("architecture");
  if (!is_architecture(e.architecture)) {
    throw UsageError("architecture: " + quote(e.architecture) + ": must be cpu, sm_NN or sm_NN.native");
  }
  const std::string_view term = fields.next("term");
  if (term != kWhole) e.term = parse_term(term);
  e.best.ratio = fraction(fields, "ratio");
  read_element(fields, e);
  e.case_line = checked_case(fields.next("case"), e.term);
  e.mutations = parse_mutations(fields.optional("mutations"));
  while (fields.more()) {
    const double ratio = fraction(fields, "ratio of a change");
    e.history.push_back({ratio, reason_of(fields.next("reason"))});
  }
  if (!e.term && (e.history.empty() || e.history.back().ratio != e.best.ratio)) {
    throw UsageError("history: must end with the ratio of the entry");
  }
  return e;
}

/// A ledger of an earlier version, all of them JSON, names it near its beginning.
void refuse_another_version(std::string_view text, const std::string& name) {
  const std::string_view first = text.substr(0, 200);
  const std::size_t at = first.find("flashproof.");
  std::string_view version = at == std::string_view::npos ? first.substr(0, first.find('\n')) : first.substr(at);
  version = version.substr(0, version.find_first_of("\"\n"));
  throw UsageError(fmt::format("{}:1: version: {}: must be {}; attack --update and ledger --update write one", name,
                               quote(version), kSchema));
}

}  // namespace

std::string entry_line(const LedgerEntry& e) {
  std::string line = fmt::format("{}\t{}\t{}\t{}\t{}\t", e.kernel, info(e.format).name, e.architecture,
                                 e.term ? name(*e.term) : kWhole, e.best.ratio);
  line += e.term ? fmt::format("{}\t{}\t{}\t0x{:x}", e.best.share, e.best.row, e.best.column, e.best.bits)
                 : fmt::format("{0}\t{0}\t{0}\t{0}", kNone);
  line += fmt::format("\t{}\t{}\t{}", or_none(e.term ? "" : e.sha1), e.case_line, or_none(to_text(e.mutations)));
  for (const LedgerChange& c : e.history) line += fmt::format("\t{}\t{}", c.ratio, c.reason);
  return line;
}

LedgerEntry parse_entry_line(std::string_view line) {
  try {
    return entry_of(line);
  } catch (const UsageError& e) {
    throw UsageError(std::string("ledger entry: ") + e.what());
  }
}

std::string ledger_text(const Ledger& ledger) {
  std::string text = fmt::format("{}\n{}", kSchema, kHead);
  for (const LedgerEntry& e : ledger.entries) text += entry_line(e) + "\n";
  return text;
}

bool is_ledger(std::string_view text) {
  constexpr std::string_view kAnyVersion = "flashproof.ledger/";
  return text.starts_with(kAnyVersion);
}

Ledger parse_ledger(std::string_view text, const std::string& name) {
  if (!text.starts_with(kSchema) || !text.substr(kSchema.size()).starts_with('\n')) refuse_another_version(text, name);
  Ledger ledger;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    try {
      if (end == std::string_view::npos) throw UsageError("the last line: not ended, must end with a newline");
      text.remove_prefix(end + 1);
      if (number == 1 || line.starts_with('#')) continue;
      LedgerEntry entry = entry_of(line);
      if (!ledger.entries.empty() && !entry_less(ledger.entries.back(), entry)) {
        throw UsageError("entries must be sorted by kernel, format, architecture and term, none twice");
      }
      ledger.entries.push_back(std::move(entry));
    } catch (const UsageError& e) {
      throw UsageError(fmt::format("{}:{}: {}", name, number, e.what()));
    }
  }
  return ledger;
}

std::string checked_kernel(std::string_view text) {
  constexpr const char* kLegal = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  if (text.empty() || text.size() > kLongestName || text.find_first_not_of(kLegal) != std::string_view::npos) {
    throw UsageError(fmt::format("kernel: {}: must be 1 to {} of [a-z0-9_.]", quote(text), kLongestName));
  }
  return std::string(text);
}

std::string checked_case(std::string_view line, std::optional<Term> term) {
  const CaseSpec spec = parse_case_spec(line);
  if (term && std::ranges::find(parts(spec.problem), part_of(*term)) == parts(spec.problem).end()) {
    throw UsageError(
        fmt::format("case: {}: has no output {}, which the term is of", quote(line), name(part_of(*term))));
  }
  return std::string(line);
}

std::string read_ledger_file(const std::filesystem::path& path) { return read_file(path, 64 << 20); }

Ledger read_ledger(const std::filesystem::path& path, bool may_be_missing) {
  std::error_code error;
  if (may_be_missing && !std::filesystem::exists(path, error) && !error) return {};
  return parse_ledger(read_ledger_file(path), one_line(path.string()));
}

}  // namespace flashproof
