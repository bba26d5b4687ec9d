// One backward kernel on one case, and what many of them make: as CaseResult and Record, with three tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/laws/gradients.h"
#include "reports/domain_stats.h"
#include "reports/gradients/plan.h"
#include "reports/record.h"

namespace flashproof {

struct GradientResult {
  std::uint64_t case_index = 0;
  Verdict verdict;
  bool executed = false;  // as in CaseResult
  ErrorStats dq, dk, dv;
  DomainStats domain;                    // rows of dq, then those of dk and dv
  std::vector<Verdict> laws;             // in the order of judging_gradient_laws(); empty if not executed
  std::vector<ElementFinding> elements;  // as in CaseResult
  std::uint64_t failing_elements = 0;

  bool failed() const { return verdict.failed(); }
  /// As in CaseResult.
  std::string serialize() const;
  static GradientResult deserialize(const std::string& line);
};

/// `evaluation.judgement` was made with this case_index.
GradientResult evaluate(const GradientEvaluation& evaluation, std::uint64_t case_index, std::size_t max_elements);
/// Where nothing could be judged: unsupported, or fail(error).
GradientResult gradient_not_judged(std::uint64_t case_index, VerdictKind kind, Failure failure,
                                   const std::string& detail);

struct GradientRecord {
  const BackwardKernel* kernel = nullptr;
  Format format = Format::f32;
  Executor executor = Executor::cpu;
  std::string family;

  std::uint64_t cases = 0;
  KindCounts by_case{};
  FailureCounts failures_by_case{};
  std::vector<KindCounts> laws;  // in the order of judging_gradient_laws(), by case
  ErrorStats dq, dk, dv;
  DomainStats domain;
  std::optional<WorstCase> worst;

  void add(const GradientResult& result);
  /// Families and formats may differ, as in Record.
  void merge(const GradientRecord& other);

  VerdictKind verdict() const { return combine(by_case, VerdictKind::unsupported); }
  std::uint64_t count(VerdictKind kind) const { return by_case[static_cast<std::size_t>(kind)]; }
  /// Over the three; −1 if nothing was measured.
  double max_ratio() const;
  /// Of a seeded fault: as rejection() in report.h.
  Rejection rejection() const;
};

/// Kernel id, math, format, executor, family.
bool gradient_key_less(const GradientRecord& a, const GradientRecord& b);
bool same_gradient_key(const GradientRecord& a, const GradientRecord& b);
/// Merges families; in key order.
std::vector<GradientRecord> per_kernel(const std::vector<GradientRecord>& records);

}  // namespace flashproof
