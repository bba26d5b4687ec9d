// For tests: a report of a few cases, as `report` writes it.
#pragma once

#include <cstdint>
#include <string>

#include "reports/record/report.h"
#include "reports/run/plan.h"
#include "reports/run/sweep.h"

namespace flashproof {

/// report.json of these seeds on the CPU executor, without witnesses.
inline std::string report_of(const Filters& filters, std::uint64_t first, std::uint64_t seeds) {
  Report report;
  report.result = sweep(make_plan(filters, seeds, first, {Executor::cpu}), {});
  report.runs.resize(1);
  report.runs[0].environment.seed = first;
  report.runs[0].environment.date = "2026-11-22";
  report.runs[0].environment.tier = "quick";
  report.runs[0].environment.executors = "cpu";
  report.runs[0].environment.math = "det";
  for (Record& r : report.result.records) r.ledger = 0.25;
  return json_text(report, Spelled::out);
}

}  // namespace flashproof
