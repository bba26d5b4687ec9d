// A record: everything known about one kernel × format × executor × math × family. Merging case results into records is
// commutative and associative to the bit, so records do not depend on the number of workers or the order of cases.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record_claims.h"
#include "reports/run/evaluate.h"
#include "reports/run/plan.h"
#include "reports/statistics/seed_set.h"
#include "reports/statistics/size_profile.h"

namespace flashproof {

/// The case that stands for a record: fail before inconclusive before the rest, then the larger ratio, then the lower seed,
/// then the family. Cases of one record differ in their seeds, so that the order is total.
struct WorstCase {
  std::string family;
  std::uint64_t seed = 0;
  Verdict verdict;
  ElementFinding element;
  HeatMap heat = {};      // of a failing case that was judged
  std::string file = {};  // its witness, relative to the report; empty: none was written
};
bool worse_case(const WorstCase& a, const WorstCase& b);

/// Of a seeded fault: the judging law that rejected it most often, and in how many cases. Laws that need another run of the
/// kernel are not asked in a report, so a fault that only they see is not rejected here.
struct Rejection {
  std::string law;
  std::uint64_t cases = 0;
};

/// Statistics by part, and what came of the cases.
struct Record : PartStats {
  const Kernel* kernel = nullptr;
  Format format = Format::f32;
  Executor executor = Executor::cpu;
  std::string family;

  std::uint64_t cases = 0;
  std::uint64_t asked = 0, refused = 0;  // as Asked, of these; a report that was read from a file does not know them
  SeedSet seeds;                         // of these cases
  KindCounts by_case{};
  FailureCounts failures_by_case{};
  // Which cases these are, so that two reports can be compared case by case. Those that pass are the rest of `seeds`.
  std::array<SeedSet, kVerdictKinds> seeds_by_kind;  // of neither pass nor fail
  std::array<SeedSet, kFailures> seeds_by_failure;
  std::map<std::string, KindCounts, std::less<>> laws;  // judging laws by name; by case
  DomainStats domain;
  Power power;          // of the cases that were judged
  SizeProfile profile;  // of the cases that were judged
  std::optional<WorstCase> worst;
  std::optional<double> ledger;  // the largest error/bound known of it (ledger/ledger.h)

  VerdictKind verdict() const { return verdict_of(by_case, power).kind; }
  /// Cases that ran to their end and have a bound.
  std::uint64_t judged() const {
    return cases - count(VerdictKind::unsupported) - failures_by_case[static_cast<std::size_t>(Failure::error)];
  }
  std::uint64_t count(VerdictKind kind) const { return by_case[static_cast<std::size_t>(kind)]; }
  /// The cases use more of their bound than the ledger knows of. Not by what failed or stayed open, which the ledger does not take in.
  bool beaten() const;
  /// Ties: the first name.
  Rejection rejection() const;

  std::uint64_t refined = 0;  // as in CaseResult

  void add(const CaseResult& result);
  /// Families and formats may differ: a row of a summary table is the merge of several records.
  void merge(const Record& other);
  /// Over the parts; −1 if nothing was measured.
  double max_ratio() const;
  /// All parts but lse, whose ulp near 0 say little.
  ErrorStats values() const;
};

bool same_key(const Record& a, const Record& b);
/// Kernel id, math, format, executor, family.
bool key_less(const Record& a, const Record& b);

/// The recipe of one of a record's cases: nothing but the seed tells them apart.
CaseSpec case_of(const Record& record, std::uint64_t seed);
/// The line of the worst case, or "-".
std::string worst_case_line(const Record& record);

/// Merges the records of each kernel × format × executor, families together; in key order.
std::vector<Record> per_kernel(const std::vector<Record>& records);

}  // namespace flashproof
