// Runs a plan on worker processes: case -> outputs, truth, bound -> verdicts -> records.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/run/plan.h"
#include "reports/workers/gpu_server.h"

namespace flashproof {

struct SweepOptions {
  int jobs = 1;
  std::size_t max_elements = 1;  // failing elements kept per result
  bool keep_results = false;     // for check and replay
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  GpuServerOptions gpu = {};
};

/// Seconds, summed over workers (wall: as the clock on the wall). truth includes the rows that the judge asked for.
struct SweepTiming {
  double wall = 0, cases = 0, truth = 0, bound = 0, run = 0, judge = 0;
};

/// How the detail of a case begins whose kernel took its process down.
inline constexpr std::string_view kProcessEnded = "the process ";

struct StepResult {
  Step step;
  CaseResult result;
};

struct SweepResult {
  std::vector<Record> records;      // key order
  std::vector<StepResult> results;  // by case, then kernel, if kept
  SweepTiming timing;
  bool partial = false;  // interrupted, or given up:
  std::string failure;   // why; empty for an interruption

  std::uint64_t executed() const;
};

/// "interrupted before every case had run." or "given up: <why>".
std::string partial_text(const std::string& failure);

/// A kernel that takes its process down is a result, fail(error). Throws InfrastructureError only before the first case;
/// later failures of the machine leave a partial result.
SweepResult sweep(const Plan& plan, const SweepOptions& options);

}  // namespace flashproof
