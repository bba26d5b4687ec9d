// Two reports beside each other: what changed, record by record, and for each kernel over its families. Where both ran the
// same cases every difference is a fact: kernels are deterministic, and so are truth and bound. Where they did not, figures
// stand beside each other and no change is claimed, but for how often a kernel fails (Fisher's exact test).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/compare/views/document.h"

namespace flashproof::compare {

/// +1: HEAD's error is worse. NaN is worse than every number.
int order_of_errors(double base, double head);

enum class Direction : int { better = -1, same = 0, worse = 1 };

/// Of a record or of a kernel: its errors in both reports.
struct Errors {
  double max_ratio = -1;
  std::map<std::string, TensorFigures> figures;
};
/// HEAD against BASE: the first of these that differs decides: worst error/bound; then per tensor p99, p90, p50 of the ulp by
/// octave, worst ulp, RMSE, |bias|. NaN is worse than any number.
Direction direction_of(const Errors& base, const Errors& head);

struct RecordChange {
  const RecordOf* base = nullptr;
  const RecordOf* head = nullptr;
  bool same_cases = true;
  bool differs = false;        // anything measured
  ClassChange classes;         // only of the same cases
  Direction error{};           // only of the same cases
  double more_failures_p = 1;  // only of other cases: Fisher, two-sided, times the number of such tests (at most 1)

  const Key& key() const { return head->key; }
  /// The command that shows it: of a case whose class worsened, where the reports say which; else of the worst case. Or "".
  std::string replay() const;
};

/// A kernel x format x executor x math: its families that ran in both.
struct KernelChange {
  Key key;  // family: "*"
  std::size_t families = 0, changed = 0;
  bool same_cases = true;
  ClassChange classes;
  Errors base, head;
  Direction error{};
};

struct Comparison {
  const Document* base = nullptr;
  const Document* head = nullptr;
  std::vector<RecordChange> records;  // of both, in key order
  std::vector<KernelChange> kernels;  // in key order
  std::vector<Key> only_base, only_head;
  std::size_t other_cases = 0;  // records whose cases differ
  std::string partial;          // "" or which report is, and why

  std::size_t changed() const;
  /// Records whose classes got worse or better, the most harmful first.
  std::vector<const RecordChange*> by_class() const;
  /// Records whose classes stand, and whose errors moved: worse first, by how much error/bound grew.
  std::vector<const RecordChange*> by_error() const;
};

/// Both must outlive the result. A partial report throws UsageError unless `take_partial`; so do two reports without one
/// record in common.
Comparison compare(const Document& base, const Document& head, bool take_partial);

/// Worst first: NaN, then by factor of error/bound; for sorting.
double growth(const Errors& base, const Errors& head);
Errors errors_of(const RecordOf& record);

/// Below this a corrected p-value counts.
inline constexpr double kLevel = 0.01;

}  // namespace flashproof::compare
