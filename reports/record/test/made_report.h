// For tests: reports made by hand, of kernels that no build has.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "reports/record/read_report.h"
#include "reports/record/report.h"
#include "reports/statistics/octaves.h"

namespace flashproof {

/// "PROBLEM.ALGORITHM.FORM", kept as long as the program.
inline const Kernel& made_kernel(const std::string& id, Math math = Math::det) {
  static KernelNames names;
  const auto starts = [&](ProblemKind p) { return id.starts_with(std::string(name(p)) + "."); };
  const Form form = id.ends_with("hardened")    ? Form::hardened
                    : id.ends_with("published") ? Form::published
                                                : Form::broken;
  return names.kernel("", id, math, *std::ranges::find_if(kProblemKinds, starts), form,
                      form == Form::broken ? "drops the guard" : "");
}

/// As many elements as the octaves (kExact: of no error) count; all passed.
inline ErrorStats made_stats(double max_ratio, double max_ulp, const std::map<int, std::uint64_t>& octaves) {
  ErrorStats s;
  for (const auto& [octave, n] : octaves) {
    s.elements += n;
    s.ulp_octaves[octave == kExact ? 0 : static_cast<std::size_t>(octave - kLeastUlpOctave + 1)] = n;
  }
  s.finite_elements = s.bias_elements = s.classes[0] = s.failures[0] = s.elements;
  s.verdicts[static_cast<std::size_t>(VerdictKind::pass)] = s.elements;
  s.ratio_octaves[55] = s.elements;
  const auto n = static_cast<double>(s.elements);
  s.sum_abs.add(1e-8 * n);
  s.sum_square.add(4e-16 * n);
  s.bias_error.add(0.001 * n);
  s.bias_drift.add(0.03 * n);
  s.max_abs = 1e-7;
  s.max_ratio = s.max_budget = max_ratio;
  s.max_ulp = max_ulp;
  return s;
}

/// 12 cases, all of which pass; error/bound 0.5, worst 1.5 ulp.
inline Record made_record(const std::string& kernel, const std::string& family) {
  Record r;
  r.kernel = &made_kernel(kernel);
  r.family = family;
  r.cases = 12;
  r.seeds.add(SeedSet::Interval{0, 11});
  r.by_case[static_cast<std::size_t>(VerdictKind::pass)] = 12;
  const Part part = parts(r.kernel->problem)[0];
  r[part] = made_stats(0.5, 1.5, {{kExact, 10}, {-2, 60}, {-1, 28}, {0, 2}});
  r.power.parts[static_cast<std::size_t>(part)].counts[static_cast<std::size_t>(Decided::yes)] = 100;
  r.worst.emplace();
  r.worst->family = family;
  r.worst->seed = 3;
  ElementFinding& e = r.worst->element;
  e.tensor = name(part);
  e.index = 7;
  e.computed = 1.5;
  e.exact = 1;
  e.error = e.ratio = 0.5;
  e.bound = {.weights = 1, .numerator = 2, .denominator = 3, .output = 4};
  return r;
}

/// Moves cases of these seeds from those that pass to a failure.
inline void fail_seeds(Record& record, Failure failure, SeedSet::Interval seeds) {
  SeedSet failed;
  failed.add(seeds);
  record.by_case[static_cast<std::size_t>(VerdictKind::pass)] -= failed.size();
  record.by_case[static_cast<std::size_t>(VerdictKind::fail)] += failed.size();
  record.failures_by_case[static_cast<std::size_t>(failure)] += failed.size();
  record.seeds_by_failure[static_cast<std::size_t>(failure)].merge(failed);
  record.worst->verdict = {VerdictKind::fail, failure, ""};
}

/// One run and no record yet.
inline Report made_report() {
  Report report;
  Environment& e = report.runs.emplace_back().environment;
  e.compiler = "g++ 12";
  e.revision = "0123456789abcdef0123";
  e.gpu = "not used";
  e.date = "2026-11-22";
  e.tier = "default";
  e.executors = "cpu";
  e.math = "det";
  return report;
}

}  // namespace flashproof
