// Many small cases per kernel x format x family: does any finite result leave its bound, and how many cases tested that?
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/run/plan.h"

namespace flashproof {

struct ValidateOptions {
  std::uint64_t cases = 200;  // per cell, a seed each
  std::uint64_t first_seed = 0;
  int jobs = 1;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  // cases
};

struct Validation {
  std::vector<Record> records;  // key order: one per cell
  std::uint64_t runs = 0;
  double seconds = 0;
  bool partial = false;
  std::string failure;  // as in SweepResult
};

/// On the CPU executor. Cases are made, run and merged in blocks of seeds, so that memory does not grow with `cases`.
/// Throws UsageError for a glob that matches nothing.
Validation validate_bounds(const Filters& filters, const ValidateOptions& options);

/// Elements outside their bound (exceeds_bound and silently_wrong), of every output.
std::uint64_t violations(const Record& record);
/// Cases in which something finite was held against a bound that says something.
std::uint64_t tested(const Record& record);
/// A line per kernel and format, then the cells with violations and those with the fewest tested cases.
std::string validation_table(const Validation& validation);

}  // namespace flashproof
