// A report.json document as plain data, checked: what every part of the page is made from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/statistics/octaves.h"
#include "reports/views/html/fields.h"

namespace flashproof::html {

/// In the order of the rule that combines verdicts (reference/error/verdict.h): the first that occurs stands for all.
inline constexpr std::array<std::string_view, 7> kVerdicts = {
    "fail", "inconclusive", "pass", "undecided", "out_of_domain", "vacuous", "unsupported"};
using Counts = std::array<std::uint64_t, kVerdicts.size()>;
inline constexpr std::size_t kFail = 0, kInconclusive = 1, kPass = 2, kUndecided = 3, kOutOfDomain = 4, kVacuous = 5,
                             kUnsupported = 6;

/// By severity: the last that occurs names a failure.
inline constexpr std::array<std::string_view, 8> kFailureNames = {"exceeds_bound", "class_mismatch", "laundering",
                                                                  "leak",          "silently_wrong", "nondeterministic",
                                                                  "unwritten",     "error"};
using Failures = std::array<std::uint64_t, kFailureNames.size()>;

inline constexpr std::array<const char*, 4> kTerms = {"weights", "numerator", "denominator", "output"};
inline constexpr std::array<const char*, 3> kProfiles = {"length", "magnitude", "merges"};

struct Octaves {
  std::uint64_t zero = 0;             // exact results; error/bound: all below 2^-55
  std::map<int, std::uint64_t> bins;  // floor(log2) -> elements
};

struct Figure {
  std::string tensor;
  std::uint64_t elements = 0, finite = 0;
  std::optional<double> max_ulp = {}, mean_ulp = {}, rmse = {}, max_abs = {}, max_ratio = {};
  std::optional<double> bias = {}, bias_limit = {};
  std::uint64_t bias_elements = 0;
  bool biased = false;
  std::uint64_t investigate = 0;
  Octaves ratio = {}, ulp = {};
};

struct Point {
  double at = 0;  // lower edge of an octave
  std::optional<double> ratio = {}, ulp = {};
};

struct Heat {
  std::string tensor;
  std::uint64_t rows = 0, cols = 0, cell_rows = 1, cell_cols = 1;
  std::vector<std::string> cells;  // of equal length, of the characters 0-9XNIFU and '.'
};

struct Witness {
  std::string line, verdict, detail, element, file, replay;  // element: "o[7]"
  std::optional<double> computed = {}, exact = {}, error = {}, ratio = {};
};

struct Record {
  std::string kernel, problem, form, format, executor, math, family, verdict;
  std::uint64_t cases = 0;
  Counts by_case{};
  std::uint64_t open_elements = 0;  // inconclusive
  Failures failures{};
  std::optional<double> ratio = {};  // worst error/bound
  std::optional<std::array<double, kTerms.size()>> terms = {};
  std::string dominating;
  std::vector<Figure> figures;
  std::array<std::vector<Point>, kProfiles.size()> profile;
  std::optional<Heat> heat = {};
  std::optional<Witness> witness = {};
  std::vector<std::pair<std::string, Counts>> laws;
  std::uint64_t domain_rows = 0, domain_outside = 0;
  std::string domain_nearest;
  std::optional<double> best_known = {};
  bool beaten = false;

  /// The kernel's id, and its math where that is native.
  std::string label() const;
  /// "kernel/format/executor/math/family": what #record= names.
  std::string key() const;
  bool failed() const { return by_case[kFail] > 0 || verdict == "fail"; }
  /// Of every tensor but lse.
  std::optional<double> max_ulp() const;
  const Figure* figure(std::string_view tensor) const;
};

struct Investigation {
  std::string kernel, format, family, tensor, what, line, key, text;
  std::uint64_t elements = 0, of = 0, index = 0;
  std::optional<double> ratio = {};
};

struct View {
  std::vector<std::map<std::string, std::string>> runs;  // every plain member of each, as text
  std::vector<std::string> partial;                      // why, of the runs that are
  std::uint64_t cases = 0, kernel_runs = 0;
  std::vector<Record> records;
  std::vector<Investigation> investigate;
  const Json* faults = nullptr;  // null: none
  const Json* bench = nullptr;   // null: none
};

/// As the open octaves of a report (reports/statistics/octaves.h).
UlpOctaves ulp_octaves(const Octaves& octaves);

/// Throws what html_text throws. Keeps pointers into `document`.
View read_view(const Json& document);

/// The larger, NaN above all; what was not measured loses.
std::optional<double> worse(std::optional<double> a, std::optional<double> b);
/// Strictly, in that order.
bool is_worse(std::optional<double> a, std::optional<double> b);

/// The first verdict that occurs, kUnsupported if none does.
std::size_t combined(const Counts& counts);

}  // namespace flashproof::html
