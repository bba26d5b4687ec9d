#include "reports/diagnose/failing_runs.h"

#include <utility>

namespace flashproof {
namespace {

void add_cases(const Record& record, const SeedSet& seeds, std::vector<CaseSpec>& to) {
  for (const auto& [first, last] : seeds.intervals()) {
    for (std::uint64_t seed = first;; ++seed) {
      to.push_back(case_of(record, seed));
      if (seed == last) break;
    }
  }
}

}  // namespace

std::map<std::string, std::vector<Cause>> causes_of(const std::vector<Record>& records, Kernels kernels, int jobs) {
  std::vector<FailingRuns> runs;
  Executor executor = Executor::cpu;  // of the records that are taken of the last kernel
  for (const Record& r : records) {
    if (r.kernel->math != Math::det || (kernels == Kernels::hardened && r.kernel->form != Form::hardened)) continue;
    if (runs.empty() || runs.back().kernel != r.kernel) {
      runs.push_back({r.kernel, {}, {}, Executor::cpu});
      executor = r.executor;
    }
    if (r.executor != executor) continue;  // the same cases again
    SeedSet passing = r.seeds;
    for (const SeedSet& seeds : r.seeds_by_kind) passing = passing.without(seeds);
    for (std::size_t i = 0; i < kFailures; ++i) {
      passing = passing.without(r.seeds_by_failure[i]);
      if (i != static_cast<std::size_t>(Failure::error)) add_cases(r, r.seeds_by_failure[i], runs.back().failing);
    }
    add_cases(r, passing, runs.back().passing);
  }
  std::erase_if(runs, [](const FailingRuns& one) { return one.failing.empty(); });
  const std::vector<std::vector<Cause>> causes = diagnose_apart(runs, jobs);
  std::map<std::string, std::vector<Cause>> by_kernel;
  for (std::size_t i = 0; i < runs.size(); ++i) by_kernel[full_id(*runs[i].kernel)] = causes[i];
  return by_kernel;
}

}  // namespace flashproof
