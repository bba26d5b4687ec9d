// One record of report.json.
#pragma once

#include "reports/record/json_at.h"
#include "reports/record/read_report.h"

namespace flashproof {

/// Statistics are read from "state", the rest from its own fields; derived figures are left to read_report() to compare.
/// Throws UsageError as JsonAt does.
Record read_record(const JsonAt& at, KernelNames& names);

}  // namespace flashproof
