#include "reports/attack/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/attack/replay.h"
#include "reports/ledger/text.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

constexpr double kSliceSeconds = 10;  // results are handed over so often, so that little is lost

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool same_target(const LedgerEntry& e, const AttackTarget& t) {
  return e.term && e.kernel == t.kernel->id && e.format == t.format;
}

std::string write_violation(const AttackTarget& target, const Origin& origin, const std::filesystem::path& out) {
  const std::filesystem::path folder = out / "attack";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InfrastructureError(one_line(folder.string()) + ": " + error.message());
  const std::filesystem::path path =
      folder / fmt::format("{}.{}.safetensors", target.kernel->id, info(target.format).name);
  write_witness(path, {{origin.spec, origin.make()}, {{"kernel", std::string(target.kernel->id)}}});
  return path.string();
}

/// What is known of a target: found earlier in this campaign, else in the ledger.
std::vector<LedgerEntry> known_of(const AttackTarget& target, const Ledger& found, Ledger known) {
  for (const LedgerEntry& e : found.entries) known.set(e);
  std::erase_if(known.entries, [&](const LedgerEntry& e) { return !same_target(e, target); });
  return std::move(known.entries);
}

/// What a worker hands over after a slice: fields with kEnd between them, which no line of a ledger has.
struct SliceReport {
  static constexpr char kEnd = '\x1e';
  std::uint64_t evaluations = 0;
  std::string witness, violation;  // empty: none yet
  std::vector<LedgerEntry> entries;

  std::string serialize() const {
    std::string text = fmt::format("{0}{3}{1}{3}{2}", evaluations, one_line(witness), one_line(violation), kEnd);
    for (const LedgerEntry& e : entries) text += kEnd + entry_line(e);
    return text;
  }
  static SliceReport deserialize(std::string_view text) {
    const auto next = [&] {
      const std::string_view field = text.substr(0, text.find(kEnd));
      text.remove_prefix(std::min(text.size(), field.size() + 1));
      return field;
    };
    SliceReport report;
    const auto evaluations = parse_u64(next());
    if (!evaluations) throw UsageError("attack: a worker's line does not begin with a number");
    report.evaluations = *evaluations;
    report.witness = next();
    report.violation = next();
    while (!text.empty()) report.entries.push_back(parse_entry_line(next()));
    return report;
  }
};

struct Slices {
  std::uint64_t count = 1;
  double seconds = 0;  // of each
};

void run_target(const AttackTarget& target, const std::vector<LedgerEntry>& known, const AttackOptions& options,
                std::uint64_t first_slice, const Slices& slices, StepReporter& reporter) {
  reporter.starting(first_slice);
  // After a crash the next worker must not meet the same inputs again.
  Search search(*target.kernel, target.format, options.seed + first_slice);
  go_on_from(search, known);
  SliceReport report;
  for (std::uint64_t slice = first_slice; slice < slices.count; ++slice) {
    if (slice != first_slice) reporter.starting(slice);
    const std::uint64_t before = search.evaluations();
    for (const double end = now() + slices.seconds; slices.seconds > 0 && now() < end;) search.step();
    report.entries = entries_of(search);
    reporter.returned();
    report.evaluations = search.evaluations() - before;
    if (!search.violation().empty() && report.violation.empty()) {
      report.violation = search.violation();
      report.witness = write_violation(target, search.violation_origin(), options.out);
    }
    reporter.result(slice, report.serialize());
  }
}

}  // namespace

AttackResult attack(const std::vector<AttackTarget>& targets, const Ledger& known, const AttackOptions& options) {
  AttackResult result;
  if (targets.empty()) return result;
  PoolOptions pool;
  pool.jobs = std::clamp<int>(options.jobs, 1, static_cast<int>(targets.size()));
  const double each = options.seconds * pool.jobs / static_cast<double>(targets.size());
  Slices slices;
  slices.count = static_cast<std::uint64_t>(std::max(1.0, std::ceil(each / kSliceSeconds)));
  slices.seconds = each / static_cast<double>(slices.count);
  std::uint64_t done = 0;
  PoolHooks hooks;
  hooks.steps = [&](std::uint64_t) { return slices.count; };
  hooks.work = [&](std::uint64_t task, std::uint64_t first, StepReporter& reporter) {
    if (first >= slices.count) return;  // the last slice ended its process
    const AttackTarget& target = targets[task];
    run_target(target, known_of(target, result.found, known), options, first, slices, reporter);
  };
  hooks.result = [&](std::uint64_t task, std::uint64_t, const std::string& text) {
    SliceReport report = SliceReport::deserialize(text);
    ++done;
    result.evaluations += report.evaluations;
    for (LedgerEntry& e : report.entries) result.found.set(std::move(e));
    const auto told = [&](const AttackFinding& f) {
      return f.target.kernel == targets[task].kernel && f.target.format == targets[task].format &&
             f.what == report.violation;
    };
    if (report.violation.empty() || std::any_of(result.findings.begin(), result.findings.end(), told)) return;
    result.findings.push_back({targets[task], report.violation, report.witness});
  };
  hooks.crashed = [&](std::uint64_t task, std::uint64_t, const std::string& how) {
    ++done;
    result.findings.push_back({targets[task], "the process " + how, {}});
  };
  hooks.progress = [&](std::uint64_t) {
    if (options.progress) options.progress(done, targets.size() * slices.count);
  };
  PoolOutcome outcome = run_pool(targets.size(), hooks, pool);
  result.partial = !outcome.complete;
  result.failure = std::move(outcome.failure);
  return result;
}

}  // namespace flashproof
