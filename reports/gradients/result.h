// One backward kernel on one case, and what many of them make: as CaseResult and Record, with three tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/laws/gradients.h"
#include "reports/gradients/plan.h"
#include "reports/record/record.h"
#include "reports/statistics/domain_stats.h"

namespace flashproof {

struct GradientResult : CaseOutcome {
  ErrorStats dq, dk, dv;  // domain: rows of dq, then those of dk and dv

  /// As in CaseResult.
  std::string serialize() const;
  static GradientResult deserialize(const std::string& line);
};

/// `evaluation.judgement` was made with the case's seed. Without seed and sizes.
GradientResult evaluate(const GradientEvaluation& evaluation, std::uint64_t case_index, std::size_t max_elements);
/// Where nothing could be judged: as not_judged().
GradientResult gradient_not_judged(std::uint64_t case_index, VerdictKind kind, Failure failure,
                                   const std::string& detail, Asked asked = Asked::no);

struct GradientRecord : RecordBase {
  const BackwardKernel* kernel = nullptr;
  ErrorStats dq, dk, dv;

  void add(const GradientResult& result);
  /// Families and formats may differ, as in Record.
  void merge(const GradientRecord& other);
  /// Over the three; −1 if nothing was measured.
  double max_ratio() const;
};

/// As case_of() and worst_case_line() of Record; the line is that of the gradient.
CaseSpec case_of(const GradientRecord& record, std::uint64_t seed);
std::string worst_case_line(const GradientRecord& record);

/// Kernel id, math, format, executor, family.
bool gradient_key_less(const GradientRecord& a, const GradientRecord& b);
bool same_gradient_key(const GradientRecord& a, const GradientRecord& b);
/// Merges families; in key order.
std::vector<GradientRecord> per_kernel(const std::vector<GradientRecord>& records);

}  // namespace flashproof
