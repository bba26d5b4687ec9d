// The judging laws on drawn cases of each family, and the statistics that a table shows: error against bound, ulp, the worst case.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.h"
#include "properties/generators/family.h"
#include "properties/laws/run_power.h"
#include "reference/error/error_stats.h"
#include "reference/error/verdict.h"

namespace flashproof::python {

struct FamilyRecord {
  std::string_view family;
  std::array<std::uint64_t, kVerdictKinds> verdicts{};  // cases by VerdictKind
  std::array<ErrorStats, kPartCount> outputs;           // by Part, of the cases that ran
  std::string refused;                                  // why the last refused case was
  std::string finding;                                  // the first failing case: its line, then the verdict
  bool complete = false;                                // all of its cases were asked
  std::vector<CaseSpec> failing, passing;               // of those that were judged

  /// The kernel took a case.
  bool taken() const;
  /// It has had a case, whatever came of it.
  bool asked() const;
};

/// How a run of measure() goes on.
struct MeasureHooks {
  std::function<bool()> stop;                          // before the next case
  std::function<void(std::string_view family)> asked;  // after each
};

/// Of every family so many cases in this format that the kernel takes; sixteen times as many are drawn at most, or until `stop`. All
/// families have their first case before any has its second, so that a run without time leaves out cases and not families. Of seed
/// 1 the cases have the seeds 0, 1, ..., of another one others. The second case has by its keys what a family alone draws now and
/// then: a causal mask, two query heads for each of two key heads, storage that is not contiguous; as far as the family has and the
/// kernel takes them. A record for every family that serves the problem and has a case of this format.
/// What the cases decided goes to `decisions`.
std::vector<FamilyRecord> measure(const Kernel& kernel, std::span<const Family* const> families, std::uint64_t seed,
                                  std::uint64_t cases, RunDecisions& decisions, const MeasureHooks& hooks);

}  // namespace flashproof::python
