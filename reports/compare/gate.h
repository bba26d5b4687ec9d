// The verdict of a policy on a comparison: reasons, each with an id that stays the same from run to run, so that a waiver can
// name it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/policy.h"
#include "reports/compare/speed/speed.h"

namespace flashproof::compare {

struct Reason {
  std::string id;    // RULE/WHAT/kernel/format/executor/math/family, RULE/slower/BENCHMARK (undecided, no-verdict, ...)
  std::string text;  // one line
  std::string replay;  // a command; "" where there is none
  const Waiver* waiver = nullptr;
};

struct GateResult {
  std::vector<Reason> reasons;         // also the waived ones
  std::vector<const Waiver*> expired;  // each fails the gate, whether it matches or not
  std::vector<const Waiver*> unused;   // match no reason: reported
  std::size_t checked = 0;             // limit x record, limit x benchmark

  bool passes() const;
};

/// `speed` may be null. `waivers` must outlive the result. Throws UsageError where a rule cannot be judged: rules about
/// records and reports of different cases, slower_percent without times.
GateResult gate(const Policy& policy, const std::vector<Waiver>& waivers, std::chrono::year_month_day today,
                const Comparison& comparison, const Speed* speed);

}  // namespace flashproof::compare
