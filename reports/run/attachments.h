// What a report carries along: the kill table of `report --faults` and the times of a Google Benchmark run, both JSON.
#pragma once

#include <string>
#include <vector>

#include "reports/record/json_at.h"
#include "reports/record/report.h"
#include "reports/views/markdown/markdown_parts.h"

namespace flashproof {

/// As compact text, if it is what kill_table_json() writes: no other JSON ends up in a report. Throws UsageError as
/// JsonAt does.
std::string checked_faults(const JsonAt& at);
/// The same of what --benchmark_out_format=json writes.
std::string checked_bench(const JsonAt& at);

/// Sections of report.md, without rows where there is nothing.
markdown_parts::Section fault_table(const Report& report);
markdown_parts::Section bench_table(const Report& report);

}  // namespace flashproof
