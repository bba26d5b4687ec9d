// The gradients' part of a report: figures per kernel, findings and their witnesses, seeded faults.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/gradients/sweep.h"

namespace flashproof {

/// As Finding.
struct GradientFinding {
  const GradientRecord* record = nullptr;
  std::string case_line;
  std::string witness;
};

struct GradientReport {
  GradientSweep result;
  const GradientPlan* plan = nullptr;
  std::vector<GradientFinding> findings;  // in the order of the records
};

/// As write_findings(), which is called first: it removes what an earlier run left.
std::vector<GradientFinding> write_findings(const GradientPlan& plan, std::vector<GradientRecord>& records,
                                            const std::filesystem::path& out);
std::vector<GradientFinding> findings_of(const std::vector<GradientRecord>& records);
std::string replay_command(const GradientFinding& finding);
std::string replay_command(const GradientRecord& record);

/// As has_finding() of records.
bool has_finding(const std::vector<GradientRecord>& records, bool nightly);
/// "420 gradient cases, 1890 runs, 3.2 s. Failing kernel x format x family: 0 hardened.", "" without any; how it ended.
std::string closing_line(const GradientReport& report);

/// The lines for a terminal; "" without records.
std::string gradient_table(const GradientReport& report, bool colour);

}  // namespace flashproof
