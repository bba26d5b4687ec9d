// A report as comparing needs it: its records by name, with what becomes of their cases as rungs of a ladder and their figures as
// numbers that can be added up over families.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/compare/classes.h"
#include "reports/record/report.h"
#include "reports/statistics/octaves.h"

namespace flashproof::compare {

struct Key {
  std::string kernel, format, executor, math, family;

  auto operator<=>(const Key&) const = default;
  /// "kernel/format/executor/math/family".
  std::string text() const;
};

/// Of one output tensor. Numbers may be inf or nan.
struct TensorFigures {
  std::uint64_t elements = 0, finite_elements = 0;
  double max_ratio = 0, max_ulp = 0, mean_abs = 0, rmse = 0;
  double max_budget = kUnknownFigure;  // of the bound without the output's rounding
  double bias = 0, bias_limit = 0;     // mean signed error, and what chance allows
  std::uint64_t bias_elements = 0;     // that the mean is of
  bool biased = false;
  UlpOctaves octaves;
};

struct RecordOf {
  Key key;
  const Record* record = nullptr;
  std::string case_line, replay;                 // of its worst case, and the command; "" where no case ran
  ClassCounts classes{};                         // of the cases
  ClassSeeds class_seeds{};                      // and which they are
  double max_ratio = -1;                         // -1: nothing was measured
  std::map<std::string, TensorFigures> figures;  // by tensor
  std::size_t digest = 0;                        // measured_digest()

  const WorstCase* witness() const { return record->worst ? &*record->worst : nullptr; }
  /// The command that replays one of its cases: the witness's, for another seed; "" where there is none.
  std::string replay_of(std::uint64_t seed) const;
};

struct Document {
  std::string name;  // the file, or what else a reader knows it by
  Report report;
  std::map<Key, RecordOf> records;  // of the report

  Document() = default;
  Document(Document&&) = default;
  Document& operator=(Document&&) = default;

  /// "" or why the first partial run is.
  std::string partial() const;
  /// "a1b2c3d4 (seed 0, default)".
  std::string label() const;
};

/// Throws as read_report().
Document read_document(const std::string& file);
/// `label`: stands for the kernels' ids; empty: they stand for themselves.
Document document_of(Report report, const std::string& name, const std::string& label = "");

}  // namespace flashproof::compare
