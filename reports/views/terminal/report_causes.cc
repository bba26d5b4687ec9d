#include "reports/views/terminal/report_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "reference/system/text.h"
#include "reports/diagnose/cause/cause_entries.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kMostNames = 4;  // of families or kernels in one line

/// One kernel that fails in one way on one executor: its records with such cases.
struct FailingWay {
  const Kernel* kernel = nullptr;
  Executor executor = Executor::cpu;
  Failure failure = Failure::none;
  std::vector<const Record*> records;

  std::uint64_t cases() const {
    std::uint64_t sum = 0;
    for (const Record* r : records) sum += r->failures_by_case[static_cast<std::size_t>(failure)];
    return sum;
  }
};

/// The ways of one kernel, those of most cases first.
using Ways = std::vector<FailingWay>;

std::vector<Ways> failing_kernels(const Report& report, Kernels judged) {
  std::vector<Ways> kernels;
  for (const Record& r : report.result.records) {
    if (!is_judged(r, judged)) continue;
    for (std::size_t i = 1; i < kFailures; ++i) {
      if (r.failures_by_case[i] == 0) continue;
      if (kernels.empty() || kernels.back().front().kernel != r.kernel) kernels.emplace_back();
      Ways& ways = kernels.back();
      const auto failure = static_cast<Failure>(i);
      auto at = std::ranges::find_if(
          ways, [&](const FailingWay& w) { return w.failure == failure && w.executor == r.executor; });
      if (at == ways.end()) at = ways.insert(ways.end(), {r.kernel, r.executor, failure, {}});
      at->records.push_back(&r);
    }
  }
  for (Ways& ways : kernels) std::ranges::stable_sort(ways, std::greater(), &FailingWay::cases);
  return kernels;
}

/// Elements of an output, on average over the record's cases.
std::uint64_t size_of(const Record& record) {
  std::uint64_t elements = 0;
  for (const Part part : parts(record.kernel->problem)) elements += record[part].elements;
  return elements / std::max<std::uint64_t>(1, record.judged());
}

/// The finding's own witness where its worst case failed in this way, else a recipe of a case that did.
std::string replay_of(const Report& report, const FailingWay& way, const Record& record) {
  const auto finding = std::ranges::find(report.findings, &record, &Finding::record);
  const bool same = record.worst && record.worst->verdict.failure == way.failure;
  if (same && finding != report.findings.end()) return replay_command(*finding);
  const SeedSet& seeds = record.seeds_by_failure[static_cast<std::size_t>(way.failure)];
  if (seeds.empty()) return replay_command(record);
  return replay_command(to_string(case_of(record, seeds.intervals().front().first)), record.executor,
                        record.kernel->math) +
         fmt::format(" --kernel {}", record.kernel->id);
}

CauseEntry entry_of(const Report& report, const FailingWay& way) {
  std::map<std::string, std::uint64_t> families;
  std::set<std::string> formats;
  std::uint64_t cases = 0;
  double ratio = -1;
  const Record* smallest = way.records.front();
  for (const Record* r : way.records) {
    ++families[one_line(r->family)];
    formats.emplace(info(r->format).name);
    cases += r->cases;
    if (worse_ratio(r->max_ratio(), ratio)) ratio = r->max_ratio();
    if (size_of(*r) < size_of(*smallest)) smallest = r;
  }
  CauseEntry cause;
  cause.sentence = fmt::format("{} on {}: {}", full_id(*way.kernel), name(way.executor), in_words(way.failure));
  cause.extent =
      fmt::format("{} of {} in {} ({}), {}; worst error/bound {}", way.cases(), counted(cases, "case", "cases"),
                  counted(families.size(), "input family", "input families"), commonest(families, false),
                  fmt::join(formats, " "), short_number(ratio));
  cause.replay = replay_of(report, way, *smallest);
  return cause;
}

/// "90 of 140 cases fail (class_mismatch 84, exceeds_bound 6), in 14 input families": of a whole kernel.
std::string failing_text(const Report& report, const Kernel* kernel, const Ways& ways) {
  std::uint64_t fails = 0, cases = 0;
  std::set<std::string> families;
  for (const Record& r : report.result.records) {
    if (r.kernel != kernel) continue;
    cases += r.cases;
    fails += r.count(VerdictKind::fail);
    if (r.count(VerdictKind::fail) > 0) families.insert(r.family);
  }
  std::map<std::string, std::uint64_t> kinds;
  for (const FailingWay& way : ways) kinds[std::string(name(way.failure))] += way.cases();
  return fmt::format("{} of {} fail ({}), in {}", fails, counted(cases, "case", "cases"), commonest(kinds, true),
                     counted(families.size(), "input family", "input families"));
}

}  // namespace

bool is_judged(const Record& record, Kernels judged) {
  return judged == Kernels::all || record.kernel->form == Form::hardened;
}

std::string commonest(const std::map<std::string, std::uint64_t>& counts, bool with_counts) {
  std::vector<std::pair<std::string, std::uint64_t>> list(counts.begin(), counts.end());
  std::ranges::stable_sort(list, std::greater(), &std::pair<std::string, std::uint64_t>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), kMostNames); ++i) {
    text +=
        fmt::format("{}{}{}", i == 0 ? "" : ", ", list[i].first, with_counts ? fmt::format(" {}", list[i].second) : "");
  }
  if (list.size() > kMostNames) text += fmt::format(", {} more", list.size() - kMostNames);
  return text;
}

std::vector<CauseEntry> report_causes(const Report& report, Kernels judged) {
  std::vector<CauseEntry> entries;
  for (const Ways& ways : failing_kernels(report, judged)) {
    const Kernel& kernel = *ways.front().kernel;
    const auto known = report.causes.find(full_id(kernel));
    const bool diagnosed = known != report.causes.end() && is_diagnosed(known->second);
    const std::size_t before = entries.size();
    if (diagnosed) {
      const auto replay = [&](const std::string& line) {
        return replay_command(line, Executor::cpu, Math::det) + fmt::format(" --kernel {}", kernel.id);
      };
      std::ranges::move(cause_entries(known->second, {full_id(kernel), failing_text(report, &kernel, ways), replay}),
                        std::back_inserter(entries));
    }
    // The diagnosis runs cases again on the CPU, those that returned: what ended a process, and what another executor did, stands by itself.
    const bool on_cpu = std::ranges::any_of(ways, [](const FailingWay& w) { return w.executor == Executor::cpu; });
    for (const FailingWay& way : ways) {
      const bool looked_at =
          way.failure != Failure::error && way.executor != Executor::ptx && (way.executor == Executor::cpu || !on_cpu);
      if (entries.size() == before || !diagnosed || !looked_at) entries.push_back(entry_of(report, way));
    }
  }
  return entries;
}

}  // namespace flashproof
