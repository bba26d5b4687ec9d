// A record: everything known about one kernel × format × executor × math × family. Merging case results into records is
// commutative and associative to the bit, so records do not depend on the number of workers or the order of cases.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/evaluate.h"
#include "reports/plan.h"

namespace flashproof {

using KindCounts = std::array<std::uint64_t, kVerdictKinds>;  // by VerdictKind
using FailureCounts = std::array<std::uint64_t, kFailures>;   // by Failure

/// The case that stands for a record: fail before inconclusive before the rest, then the larger ratio, then the lower
/// case index.
struct WorstCase {
  std::uint64_t case_index = 0;
  Verdict verdict;
  ElementFinding element;
};
bool worse_case(const WorstCase& a, const WorstCase& b);

/// Of a seeded fault: the judging law that rejected it most often, and in how many cases. Laws that need another run of the
/// kernel are not asked in a report, so a fault that only they see is not rejected here.
struct Rejection {
  std::string_view law;
  std::uint64_t cases = 0;
};

struct Record {
  const Kernel* kernel = nullptr;
  Format format = Format::f32;
  Executor executor = Executor::cpu;
  std::string family;

  std::uint64_t cases = 0;
  KindCounts by_case{};
  FailureCounts failures_by_case{};
  std::vector<KindCounts> laws;  // in the order of judging_laws(), by case
  ErrorStats o;
  ErrorStats lse;
  DomainStats domain;
  std::uint64_t refined = 0;  // as in CaseResult
  std::optional<WorstCase> worst;

  void add(const CaseResult& result);
  /// Families and formats may differ: a row of a summary table is the merge of several records.
  void merge(const Record& other);

  /// verdict.h's combine() over the cases; unsupported if there is none.
  VerdictKind verdict() const;
  /// Over o and lse; −1 if nothing was measured.
  double max_ratio() const;
};

bool same_key(const Record& a, const Record& b);
/// Kernel id, math, format, executor, family.
bool key_less(const Record& a, const Record& b);

/// Merges the records of each kernel × format × executor, families together; in key order.
std::vector<Record> per_kernel(const std::vector<Record>& records);

}  // namespace flashproof
