// compare BASE HEAD: two reports, two git revisions, which make a report each, or two kernels of this build. The verdict's block on stdout, --markdown and --json as files, --gate for the exit code.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/process.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/compare/outcome.h"
#include "reports/compare/revisions.h"
#include "reports/compare/toml_reader.h"
#include "reports/record/report.h"
#include "reports/run/native.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

using namespace compare;

std::chrono::year_month_day today(const std::string& told) {
  if (told.empty()) {
    return std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  }
  const auto date = parse_date(told);
  if (!date) throw UsageError("--today " + quote(told) + ": must be a day like 2026-12-31");
  return *date;
}

/// A file that can be written later; "" for none.
void check_output(const std::string& file, std::string_view option) {
  if (!file.empty()) require_writable_file(file, option);
}

std::vector<std::pair<BenchFile, BenchFile>> bench_files(const std::vector<std::string>& files) {
  std::vector<std::pair<BenchFile, BenchFile>> rounds;
  for (std::size_t i = 0; i + 1 < files.size(); i += 2)
    rounds.emplace_back(read_bench(files[i]), read_bench(files[i + 1]));
  return rounds;
}

PairArguments pair_arguments(const CompareArguments& a) {
  PairArguments p;
  p.base = a.base;
  p.head = a.head;
  p.filters = a.sweep.filters;
  p.tier = a.sweep.tier();
  p.seed = a.sweep.seed;
  p.case_text = a.case_text;
  p.math = a.sweep.math;
  p.profile = a.sweep.profile;
  p.jobs = jobs_for(a.sweep.jobs);
  p.rounds = a.rounds;
  p.say = say;
  return p;
}

void refuse_sweep_options(const CompareArguments& a) {
  const std::string option = !a.case_text.empty() ? "--case"
                             : a.rounds > 0       ? "--measure"
                             : a.sweep_options.empty()
                                 ? ""
                                 : a.sweep_options.front().substr(0, a.sweep_options.front().find('='));
  if (option.empty()) return;
  throw UsageError(option + ": two reports have run already; legal with two kernels or two revisions");
}

/// The two sides, and what came with them; false: skipped.
struct Sides {
  Document base, head;
  Outcome outcome;
  std::vector<std::pair<BenchFile, BenchFile>> rounds;
};

bool is_report(const std::string& text) { return text.ends_with(".json"); }

bool is_kernel(const std::string& text) {
  const auto names = {"softmax.", "merge.", "attention.", "attention_backward."};
  return names_kernel(text) || std::ranges::any_of(names, [&](const char* name) { return text.starts_with(name); });
}

bool is_file(const std::string& text) { return std::filesystem::exists(text) || is_report(text); }

/// Throws UsageError if one of the two is nothing at all.
void require_known(const CompareArguments& a, const std::vector<std::string>& revisions) {
  for (const std::string& side : {a.base, a.head}) {
    if (is_kernel(side) || is_file(side) || std::ranges::find(revisions, side) != revisions.end()) continue;
    throw UsageError(quote(side) + ": no report.json, no kernel's id, and no git revision of this checkout");
  }
}

/// Where BASE and HEAD name two commits: what to report of each. None: they name none. Throws UsageError for one commit beside
/// something else, and for what revisions do not take.
std::optional<RevisionArguments> revisions(const CompareArguments& a, const std::optional<ThisBuild>& build) {
  if (!build) return std::nullopt;
  RevisionArguments r;
  std::vector<std::string> named;
  for (const auto& [side, text] : {std::pair{&r.base, &a.base}, std::pair{&r.head, &a.head}}) {
    side->text = *text;
    if (text->empty() || is_report(*text) || is_kernel(*text)) continue;
    const std::optional<std::string> commit = commit_of(build->root, *text);
    if (!commit) continue;
    side->commit = *commit;
    named.push_back(*text);
  }
  if (named.empty() || a.head.empty()) return std::nullopt;
  if (named.size() == 1) {
    require_known(a, named);
    throw UsageError(quote(a.base) + " and " + quote(a.head) +
                     ": must be two of a kind: reports, kernels or git revisions");
  }
  if (!a.case_text.empty()) {
    throw UsageError("--case: for two kernels; two revisions take --kernel, --family, --format and --seed");
  }
  if (a.rounds > 0 && a.launcher.no_build) throw UsageError("--measure builds benchmarks, which --no-build forbids");
  r.launcher = a.launcher.words();
  r.report = a.sweep_options;
  // A gate's limits are of every kernel, changed or not.
  r.every_kernel = !a.sweep.filters.kernels.empty() || !a.gate.empty();
  r.rounds = a.rounds;
  r.benchmark_filter = a.benchmark_filter;
  r.say = say;
  return r;
}

/// Which kernels were not run, and why.
std::string scope_text(const std::optional<ChangedKernels>& changed) {
  if (!changed) return "";
  if (changed->ids.empty()) {
    return fmt::format(
        "all {} kernels are compiled to the same object files, and so is all else of the program: nothing was run",
        changed->of);
  }
  return fmt::format("{} compiled differently; the {} others compute the same and were not run (--kernel '*' runs all)",
                     counted(changed->ids.size(), "kernel is", "kernels are"), changed->of - changed->ids.size());
}

/// Of two kernels or two reports.
bool load(const CompareArguments& a, Sides& s) {
  if (a.base.empty() && !a.bench.empty()) {  // speeds alone
    refuse_sweep_options(a);
    s.outcome.base_label = a.bench[0];
    s.outcome.head_label = a.bench[1];
    return true;
  }
  if (a.head.empty())
    throw UsageError("BASE and HEAD: two are needed; legal: two report.json, two kernels, or --bench alone");
  if (is_file(a.base) && is_file(a.head)) {
    refuse_sweep_options(a);
    s.base = read_document(a.base);
    s.head = read_document(a.head);
    if (a.bench.empty() && !s.base.report.bench.empty() && !s.head.report.bench.empty()) {
      s.rounds = {{bench_of(nlohmann::json::parse(s.base.report.bench), s.base.name + ": bench"),
                   bench_of(nlohmann::json::parse(s.head.report.bench), s.head.name + ": bench")}};
    }
    // The files' names only where the revisions do not tell the two apart.
    const std::string base = s.base.label(), head = s.head.label();
    s.outcome.base_label = base == head ? s.base.name + ": " + base : base;
    s.outcome.head_label = base == head ? s.head.name + ": " + head : head;
    return true;
  }
  require_known(a, {});
  for (const std::string& side : {a.base, a.head}) {
    if (is_kernel(side)) continue;
    throw UsageError(quote(side) + ": must be a report.json, as the other side, or a kernel's id, as the other side");
  }
  if (!a.sweep.filters.kernels.empty()) throw UsageError("--kernel: of two revisions; here BASE and HEAD are kernels");
  PairArguments arguments = pair_arguments(a);
  check_math(a.sweep.math, a.sweep.profile);
  arguments.executors = executors_for(a.sweep.executor);
  if (arguments.executors.empty()) return false;
  stop_on_signals();
  PairRun run = run_pair(arguments);
  s.base = std::move(run.base);
  s.head = std::move(run.head);
  s.outcome.paired = std::move(run.paired);
  if (a.bench.empty()) s.rounds = std::move(run.speed);
  s.outcome.base_label = a.base;
  s.outcome.head_label = a.head;
  return true;
}

}  // namespace

int compare_command(const CompareArguments& given) {
  CompareArguments a = given;
  if (!a.waivers.empty() && a.gate.empty()) throw UsageError("--waivers: only with --gate");
  // Wrong files show before any work.
  std::vector<Waiver> waivers;
  std::optional<Policy> policy;
  if (!a.gate.empty()) policy = read_policy(a.gate);
  if (!a.waivers.empty()) {
    waivers = read_waivers(a.waivers);
    check_waivers(*policy, waivers);
  }
  Sides s;
  s.outcome.today = today(a.today);
  if (!a.bench.empty()) s.rounds = bench_files(a.bench);
  check_output(a.markdown, "--markdown");
  check_output(a.json, "--json");

  if (a.check) return kExitFine;

  const std::optional<ThisBuild> build = find_this_build();
  if (const std::optional<RevisionArguments> two = revisions(a, build)) {
    stop_on_signals();
    const RevisionReports reports = report_revisions(*build, *two);
    if (reports.code != 0) return reports.code;
    s.outcome.scope = scope_text(reports.changed);
    if (reports.same_program()) {
      s.outcome.base_label = a.base;
      s.outcome.head_label = a.head;
    }
    a.base = reports.same_program() ? "" : reports.base.string();
    a.head = reports.same_program() ? "" : reports.head.string();
    a.sweep_options.clear();
    a.rounds = 0;
    for (const auto& [base, head] : reports.rounds) {
      a.bench.insert(a.bench.end(), {base, head});
      s.rounds.emplace_back(read_bench(base), read_bench(head));
    }
  }
  const bool same_program = a.base.empty() && !s.outcome.scope.empty();
  if (!same_program && !load(a, s)) return kExitSkipped;
  if (!a.base.empty()) s.outcome.comparison = compare::compare(s.base, s.head, a.partial);
  if (!s.rounds.empty()) s.outcome.speed = compare_speed(s.rounds);
  if (policy) {
    s.outcome.gate =
        gate(*policy, waivers, s.outcome.today, s.outcome.comparison, s.outcome.speed ? &*s.outcome.speed : nullptr);
  }
  if (!a.markdown.empty()) write_atomically(a.markdown, markdown_of(s.outcome));
  if (!a.json.empty()) write_atomically(a.json, json_of(s.outcome));
  VerdictBlock block = block_of(s.outcome);
  // Of speeds alone the table of times is what was asked for.
  const bool verbose = a.verbose || (s.outcome.comparison.base == nullptr && s.outcome.speed);
  if (!verbose) block.rest.push_back({"more", "--verbose: every record that differs; --json FILE: all of it"});
  show_block(block, verbose ? text_of(s.outcome) : "");
  return s.outcome.gate && !s.outcome.gate->passes() ? kExitFinding : kExitFine;
}

}  // namespace flashproof
