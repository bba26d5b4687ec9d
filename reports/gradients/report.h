// The gradients' part of a report for a terminal: figures per kernel, findings, seeded faults.
#pragma once

#include <string>

#include "reports/record/report.h"

namespace flashproof {

/// "420 gradient cases, 1890 runs, 3.2 s. Failing kernel x format x family: 0 hardened.", "" without any; how it ended.
std::string closing_line(const PlanReport& report);

/// The lines for a terminal; "" without records.
std::string gradient_table(const PlanReport& report, bool colour);

}  // namespace flashproof
