#include "reports/record/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// Which file a record's cases came from, for the message.
struct Origin {
  SeedSet seeds;
  std::string file;
};

class Records {
 public:
  explicit Records(std::vector<Record>& to) : to_(to) {}

  void add(const std::vector<Record>& records, const std::string& file) {
    for (const Record& record : records) {
      const auto at = std::lower_bound(to_.begin(), to_.end(), record, key_less);
      std::vector<Origin>& origins = origins_[key(record)];
      for (const Origin& origin : origins) refuse_common(origin, record, file);
      origins.push_back({record.seeds, file});
      if (at == to_.end() || key_less(record, *at)) {
        to_.insert(at, record);
      } else {
        at->merge(record);
      }
    }
  }

 private:
  static std::string key(const Record& r) {
    return fmt::format("{} {} {} {} {}", r.kernel->id, info(r.format).name, name(r.executor), name(r.kernel->math),
                       r.family);
  }
  static void refuse_common(const Origin& origin, const Record& record, const std::string& file) {
    const auto common = origin.seeds.common(record.seeds);
    if (!common) return;
    throw UsageError(
        fmt::format("{}: {}: seeds {}..{} are in {}, too, and would count twice; merge runs of other seeds",
                    one_line(file), key(record), common->first, common->second, one_line(origin.file)));
  }

  std::vector<Record>& to_;
  std::map<std::string, std::vector<Origin>> origins_;
};

/// What native math or a GPU computes depends on the GPU, its driver and profile, none of which is part of a record's key: of two
/// of them the cases would be counted as those of one.
void refuse_other_gpu(const Report& merged, const Run& run, const std::string& file) {
  const Environment& e = run.environment;
  if (e.executors == "cpu") return;
  for (const Run& other : merged.runs) {
    const Environment& o = other.environment;
    if (o.executors == "cpu") continue;
    if (o.gpu != e.gpu) {
      throw UsageError(
          fmt::format("{}: made on GPU {}, another file on {}; records of GPUs merge only if all are of one",
                      one_line(file), quote(e.gpu), quote(o.gpu)));
    }
    if (e.math != "det" && o.math != "det" && o.profile != e.profile) {
      throw UsageError(fmt::format("{}: native math by profile {}, another file by {}; legal is one for all",
                                   one_line(file), quote(e.profile), quote(o.profile)));
    }
  }
}

void add_runs(Report& merged, const Report& one, const std::string& file, const MergeOptions& options) {
  for (const Run& run : one.runs) {
    if (!run.partial.empty() && !options.allow_partial) {
      throw UsageError(fmt::format("{}: a partial run ({}); --allow-partial merges what it has", one_line(file),
                                   printable(run.partial, 200)));
    }
    const auto same = [&](const Run& other) { return run_line(other) == run_line(run); };
    if (std::ranges::any_of(merged.runs, same)) {
      throw UsageError(one_line(file) + ": the same run is in another file, too");
    }
    refuse_other_gpu(merged, run, file);
    merged.runs.push_back(run);
  }
}

void attach(std::string& to, const std::string& text, const std::string& file, const char* what) {
  if (!to.empty() && !text.empty() && to != text) {
    throw UsageError(
        fmt::format("{}: {} differs from that of another file, legal is one for all", one_line(file), what));
  }
  if (to.empty()) to = text;
}

/// Causes of one id are one, whatever the file; its words are those that come first.
void add_cause(std::vector<Cause>& causes, const Cause& cause) {
  const auto same = std::ranges::find(causes, cause.id, &Cause::id);
  if (same == causes.end()) {
    causes.push_back(cause);
    return;
  }
  const auto words = [](const Cause& c) {
    return std::tie(c.sentence, c.condition, c.others, c.other_sentence, c.witness);
  };
  Cause both = words(cause) < words(*same) ? cause : *same;
  both.cases = same->cases + cause.cases;
  both.failing_cases = same->failing_cases + cause.failing_cases;
  both.elements = same->elements + cause.elements;
  both.confident = same->confident || cause.confident;
  *same = both;
}

}  // namespace

Report merge_reports(const std::vector<std::string>& files, const MergeOptions& options, KernelNames& names) {
  Report merged;
  const auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  merged.owner = owners;
  Records records(merged.result.records);
  for (const std::string& file : files) {
    Report one = read_report(file, names);
    add_runs(merged, one, file, options);
    records.add(one.result.records, file);
    attach(merged.faults, one.faults, file, "faults");
    attach(merged.bench, one.bench, file, "bench");
    merged.blamed.merge(one.blamed);
    for (const auto& [kernel, causes] : one.causes) {
      for (const Cause& cause : causes) add_cause(merged.causes[kernel], cause);
    }
    for (const Undecided& narrow : one.narrow) {
      if (std::ranges::find(merged.narrow, narrow.kernel, &Undecided::kernel) == merged.narrow.end())
        merged.narrow.push_back(narrow);
    }
    owners->push_back(one.owner);
  }
  std::ranges::sort(merged.runs, {}, run_line);
  for (auto& [kernel, causes] : merged.causes) std::ranges::sort(causes, {}, &Cause::serialize);
  std::ranges::sort(merged.narrow, {}, &Undecided::kernel);
  merged.undecided = undecided_of(merged.result.records, Kernels::hardened);
  merged.findings = findings_of(merged.result.records);
  return merged;
}

std::vector<std::string> differing_facts(const std::vector<Run>& runs) {
  constexpr std::pair<const char*, std::string Environment::*> kFacts[] = {
      {"revision", &Environment::revision},
      {"compiler", &Environment::compiler},
      {"cuda_compiler", &Environment::cuda_compiler},
      {"flags", &Environment::flags},
      {"cpu", &Environment::cpu},
      {"gpu", &Environment::gpu},
      {"tier", &Environment::tier},
      {"math", &Environment::math},
      {"executors", &Environment::executors}};
  std::vector<std::string> facts;
  for (const auto& [name, fact] : kFacts) {
    const auto differs = [&, member = fact](const Run& run) {
      return run.environment.*member != runs.front().environment.*member;
    };
    if (std::ranges::any_of(runs, differs)) facts.emplace_back(name);
  }
  return facts;
}

}  // namespace flashproof
