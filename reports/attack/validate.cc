#include "reports/attack/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "reports/record/report.h"
#include "reports/run/sweep.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kBlock = 100;  // seeds per sweep

void take(std::vector<Record>& records, const Record& record) {
  const auto at = std::lower_bound(records.begin(), records.end(), record, key_less);
  if (at == records.end() || !same_key(*at, record)) {
    records.insert(at, record);
  } else {
    at->merge(record);
  }
}

}  // namespace

Validation validate_bounds(const Filters& filters, const ValidateOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Validation validation;
  std::uint64_t done = 0;
  while (done < options.cases && !validation.partial) {
    const std::uint64_t block = std::min(kBlock, options.cases - done);
    Plan plan = make_plan(filters, block, options.first_seed + done, {Executor::cpu});
    SweepOptions sweep_options;
    sweep_options.jobs = options.jobs;
    sweep_options.progress = [&](std::uint64_t now, std::uint64_t total) {
      const std::uint64_t per_seed = total / block;  // every seed makes the same number of cases
      if (options.progress) options.progress(done * per_seed + now, options.cases * per_seed);
    };
    const SweepResult result = sweep(plan, sweep_options);
    for (const Record& record : result.records) {
      take(validation.records, record);
      validation.runs += record.cases;
    }
    validation.partial = result.partial;
    validation.failure = result.failure;
    done += block;
  }
  validation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return validation;
}

std::uint64_t violations(const Record& r) {
  std::uint64_t n = 0;
  for (const Failure failure : {Failure::exceeds_bound, Failure::silently_wrong}) {
    for (const Part part : parts(r.kernel->problem)) n += r[part].failures[static_cast<std::size_t>(failure)];
  }
  return n;
}

std::uint64_t elements_of(const Record& r) {
  std::uint64_t n = 0;
  for (const Part part : parts(r.kernel->problem)) n += r[part].elements;
  return n;
}

std::uint64_t tested(const Record& r) {
  std::uint64_t n = 0;
  for (const VerdictKind kind : {VerdictKind::pass, VerdictKind::fail, VerdictKind::inconclusive})
    n += count_of(r, kind);
  return n;
}

std::string validation_table(const Validation& v) {
  std::size_t label = 6;
  for (const Record& r : v.records) label = std::max(label, r.kernel->id.size());
  std::string out = fmt::format("{} {:<5}{:>9}{:>10}{:>12}{:>10}{:>8}  {}\n", pad("kernel", label), "fmt", "families",
                                "cases", "elements", "violating", "err/B", "fewest cases that tested the bound");
  const std::vector<Record> rows = per_kernel(v.records);
  for (const Record& row : rows) {
    std::uint64_t families = 0;
    const Record* fewest = nullptr;
    for (const Record& r : v.records) {
      if (r.kernel != row.kernel || r.format != row.format) continue;
      ++families;
      if (fewest == nullptr || tested(r) < tested(*fewest)) fewest = &r;
    }
    out += fmt::format("{} {:<5}{:>9}{:>10}{:>12}{:>10}{:>8}  {} ({})\n", pad(row.kernel->id, label),
                       info(row.format).name, families, row.cases, elements_of(row), violations(row),
                       row.max_ratio() < 0 ? "-" : short_number(row.max_ratio()), tested(*fewest),
                       one_line(fewest->family));
  }
  for (const Record& r : v.records) {
    if (violations(r) == 0) continue;
    out += fmt::format("  {} {} {}: {} elements outside their bound, worst case {}\n", r.kernel->id,
                       info(r.format).name, one_line(r.family), violations(r), worst_case_line(r));
  }
  return out;
}

}  // namespace flashproof
