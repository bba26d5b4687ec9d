#include "reports/record/record_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "reference/error/error_stats.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// Of an element that is accepted. The exact ratio is at most 1. Evaluating it takes fewer than 16 roundings, each of at most 2^-53
/// of what it rounds: the error is computed - hi, which is exact or larger than hi/2 and then rounded by 2^-53 of itself, less lo,
/// which is at most 2^-53 |hi| and so below 2^-29 of the bound (u >= 2^-24), rounded alike; the bound is a sum of six non-negative
/// terms; then one division.
constexpr double kMostRatio = 1 + 0x1p-49;

template <std::size_t n>
std::uint64_t total(const std::array<std::uint64_t, n>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Cases, or elements, by their verdicts.
struct Counted {
  KindCounts kinds;
  FailureCounts failures;

  Counted(const JsonAt& record, std::string_view what)
      : kinds(read_kinds(record["counts"][what])), failures(read_failures(record["failures"][what])) {}
  std::uint64_t of(VerdictKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  std::uint64_t of(Failure failure) const { return failures[static_cast<std::size_t>(failure)]; }
  /// That of them all, with the most severe failure.
  Decision worst() const {
    Decision worst{combine(kinds, VerdictKind::unsupported)};
    for (std::size_t i = 1; worst.failed() && i < kFailures; ++i) {
      if (failures[i] != 0) worst.failure = static_cast<Failure>(i);
    }
    return worst;
  }
};

std::string text_of(const Decision& decision) { return to_string(decision.verdict()); }

class Claims {
 public:
  explicit Claims(const JsonAt& record)
      : record_(record), cases_(record, "cases"), elements_(record, "elements"), power_(read_power(record["power"])) {}

  void check() const {
    check_counts("cases", cases_);
    check_counts("elements", elements_);
    if (const std::uint64_t told = record_["cases"].count(); told != total(cases_.kinds)) {
      contradicted(fmt::format("it has {} cases, by verdict {}", told, total(cases_.kinds)));
    }
    check_figures();
    check_power();
    check_verdict();
    check_laws();
    check_witness();
  }

 private:
  [[noreturn]] void contradicted(const std::string& what) const {
    const auto word = [&](const char* key) { return printable(record_[key].text()); };
    throw UsageError(fmt::format("{}: {} {} {} {} {}: {}", one_line(record_.place()), word("kernel"), word("format"),
                                 word("executor"), word("math"), word("family"), what));
  }

  void check_counts(std::string_view what, const Counted& counted) const {
    const std::uint64_t by_failure = total(counted.failures), failed = counted.of(VerdictKind::fail);
    if (failed != by_failure) contradicted(fmt::format("{} {} failed, by failure {}", failed, what, by_failure));
  }

  void check_figures() const {
    const JsonAt figures = record_["figures"], told = record_["max_ratio"];
    if (!figures.value().is_object()) figures.refuse("an object");
    std::uint64_t elements = 0;
    double worst_ratio = 0;
    for (const auto& [tensor, unused] : figures.value().items()) {
      elements += figures[tensor]["elements"].count();
      worst_ratio = worse(worst_ratio, figures[tensor]["max_ratio"].number());
    }
    if (elements != total(elements_.kinds)) {
      contradicted(fmt::format("its figures have {} elements, by verdict {}", elements, total(elements_.kinds)));
    }
    if (told.null() != (elements == 0) || (elements != 0 && !same(told.number(), worst_ratio))) {
      contradicted(fmt::format("max_ratio is {}, its figures give {}", printable(told.value().dump()),
                               elements == 0 ? "null" : fmt::format("{}", worst_ratio)));
    }
    const bool accepted = elements_.of(VerdictKind::fail) + elements_.of(VerdictKind::inconclusive) == 0;
    if (accepted && !(worst_ratio <= kMostRatio)) {
      contradicted(fmt::format("its worst error/bound is {}, but no element failed", worst_ratio));
    }
  }

  /// Every element of a tensor is decided or not, for one reason.
  void check_power() const {
    const JsonAt power = record_["power"], figures = record_["figures"];
    for (std::size_t i = 0; i < kPartCount; ++i) {
      const std::string_view part = name(static_cast<Part>(i));
      const PowerCounts& counts = power_.parts[i];
      const std::uint64_t elements = figures.has(part) ? figures[part]["elements"].count() : 0;
      if (counts.elements() != elements) {
        contradicted(
            fmt::format("its power is of {} elements of {}, its figures of {}", counts.elements(), part, elements));
      }
      if (power.has(part) && !same(power[part]["share"].number(), counts.share())) {
        contradicted(fmt::format("{} of {} is said to be decided, its counts give {}", power[part]["share"].number(),
                                 part, counts.share()));
      }
    }
  }

  void check_verdict() const {
    const Verdict given = verdict_of(cases_.kinds, power_);
    if (record_["verdict"].text() != name(given.kind)) {
      contradicted(fmt::format("verdict is {}, its statistics give {}{}{}", printable(record_["verdict"].text()),
                               name(given.kind), given.detail.empty() ? "" : ": ", given.detail));
    }
    // A case is no better than its elements; what is beside a failure in it, and what decides nothing, may differ.
    const Decision element = elements_.worst(), of_cases = cases_.worst();
    if (element.kind >= VerdictKind::inconclusive && outweighs(element, of_cases)) {
      contradicted(fmt::format("its worst element is {}, its worst case {}", text_of(element), text_of(of_cases)));
    }
  }

  void check_laws() const {
    const JsonAt laws = record_["laws"];
    if (!laws.value().is_object()) laws.refuse("an object");
    for (const auto& [law, unused] : laws.value().items()) {
      const std::uint64_t failed = read_kinds(laws[law])[static_cast<std::size_t>(VerdictKind::fail)];
      if (failed > cases_.of(VerdictKind::fail)) {
        contradicted(
            fmt::format("{} rejects {} cases, {} failed", printable(law), failed, cases_.of(VerdictKind::fail)));
      }
    }
  }

  /// The witness is one of the cases, and none of them is more severe.
  void check_witness() const {
    const JsonAt witness = record_["witness"];
    const bool ran = total(cases_.kinds) != cases_.of(VerdictKind::unsupported);
    if (witness.null() == ran)
      contradicted(ran ? "cases ran, and there is no witness" : "no case ran, and there is a witness");
    if (!ran) return;
    const Verdict told = read_verdict(witness["verdict"]);
    const VerdictKind worst = cases_.worst().kind;
    const bool one_of_them = told.failed() ? cases_.of(told.failure) != 0 : cases_.of(told.kind) != 0;
    if (!one_of_them || (worst >= VerdictKind::inconclusive && told.kind != worst)) {
      contradicted(fmt::format("its witness is {}, its worst case {}", to_string(told), text_of(cases_.worst())));
    }
  }

  JsonAt record_;
  Counted cases_, elements_;
  Power power_;
};

}  // namespace

Verdict verdict_of(const KindCounts& by_case, const Power& power) {
  return require_power({combine(by_case, VerdictKind::unsupported), Failure::none, ""}, power);
}

std::uint64_t count_in(const JsonAt& at, std::string_view key) { return at.has(key) ? at[key].count() : 0; }

KindCounts read_kinds(const JsonAt& at) {
  KindCounts counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = count_in(at, name(static_cast<VerdictKind>(i)));
  return counts;
}

FailureCounts read_failures(const JsonAt& at) {
  FailureCounts counts{};
  for (std::size_t i = 1; i < counts.size(); ++i) counts[i] = count_in(at, name(static_cast<Failure>(i)));
  return counts;
}

Power read_power(const JsonAt& at) {
  if (!at.value().is_object()) at.refuse("an object");
  Power power;
  for (std::size_t part = 0; part < kPartCount; ++part) {
    const std::string_view key = name(static_cast<Part>(part));
    if (!at.has(key)) continue;
    for (std::size_t i = 0; i < kDecided; ++i) {
      power.parts[part].counts[i] = count_in(at[key], name(static_cast<Decided>(i)));
    }
  }
  return power;
}

Verdict read_verdict(const JsonAt& at) {
  const std::string text = at.text();
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
    for (std::size_t failure = 0; failure < kFailures; ++failure) {
      Verdict verdict{static_cast<VerdictKind>(kind), static_cast<Failure>(failure), ""};
      if (to_string(verdict) == text) return verdict;
    }
  }
  at.refuse("a verdict such as pass or fail(exceeds_bound)");
}

void check_records(const nlohmann::json& document, const std::string& file) {
  const JsonAt at(document, file);
  const JsonAt records = at["records"];
  for (std::size_t i = 0; i < records.items(); ++i) Claims(records.item(i)).check();
}

}  // namespace flashproof
