// attack: guided search for the largest error/bound, and the ledger of what was found; or --validate: many small cases.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "kernels/registry.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reports/attack/campaign.h"
#include "reports/attack/validate.h"
#include "reports/cli/commands/commands.h"
#include "reports/ledger/tables.h"
#include "reports/ledger/text.h"
#include "reports/record/report.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

constexpr std::size_t kLongestReason = 300;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::vector<AttackTarget> targets_of(const AttackArguments& a) {
  const std::vector<Format> formats = select_formats(a.formats);
  std::vector<AttackTarget> targets;
  for (const Kernel* kernel : select_kernels(a.kernels)) {
    for (const Format format : formats) {
      if (kernel->supports(format)) targets.push_back({kernel, format});
    }
  }
  return targets;
}

void check_arguments(const AttackArguments& a) {
  if (a.update && a.reason.empty()) throw UsageError("--update: needs --reason TEXT, why the figures move");
  if (!a.update && !a.reason.empty()) throw UsageError("--reason: only together with --update");
  if (a.reason.size() > kLongestReason || a.reason != one_line(a.reason)) {
    throw UsageError(fmt::format("--reason: one line of at most {} bytes", kLongestReason));
  }
  if (a.validate > 0 && (a.update || !a.export_to.empty()))
    throw UsageError("--validate: not with --update or --export");
}

/// What can be written afterwards is found out before a search of perhaps hours.
void require_places(const AttackArguments& a) {
  if (a.update) {
    require_writable_file(a.ledger, "--ledger");
  }
  if (!a.export_to.empty()) require_writable(a.export_to, "--export");
}

/// Is it an entry of a term of one of them?
bool of_target(const LedgerEntry& e, const std::vector<AttackTarget>& targets) {
  return e.term && std::any_of(targets.begin(), targets.end(),
                               [&](const AttackTarget& t) { return e.kernel == t.kernel->id && e.format == t.format; });
}

/// What the campaign found, in the place of what the ledger had of these targets; it may raise the whole bound's, too.
Ledger updated(const Ledger& old, const AttackResult& result, const std::vector<AttackTarget>& targets,
               const std::string& reason) {
  Ledger ledger = old;
  // A complete run measured every entry of its targets again: what it does not hand back cannot be made any more.
  if (!result.partial) {
    std::erase_if(ledger.entries, [&](const LedgerEntry& e) {
      return of_target(e, targets) && result.found.find(e.kernel, e.format, e.term, e.architecture) == nullptr;
    });
  }
  Ledger whole;
  for (const LedgerEntry& e : result.found.entries) {
    ledger.put(e, reason);
    whole.offer(of_whole_bound(e));
  }
  for (LedgerEntry& e : whole.entries) ledger.raise(std::move(e), reason);
  return ledger;
}

void print_changes(const Ledger& old, const AttackResult& result, const std::vector<AttackTarget>& targets) {
  for (const LedgerEntry& e : result.found.entries) {
    const LedgerEntry* before = old.find(e.kernel, e.format, e.term);
    if (before != nullptr && replays(before->best, e.best)) continue;
    print(fmt::format("  {} {} {}: {} -> {}\n", e.kernel, info(e.format).name, name(*e.term),
                      before == nullptr ? "new" : fmt::format("{:.6g}", before->best.ratio),
                      fmt::format("{:.6g}", e.best.ratio)));
  }
  if (result.partial) return;
  for (const LedgerEntry& e : old.entries) {
    if (of_target(e, targets) && result.found.find(e.kernel, e.format, e.term, e.architecture) == nullptr) {
      print(fmt::format("  {} {} {}: {:.6g} -> gone: its case cannot be made any more\n", e.kernel, info(e.format).name,
                        name(*e.term), e.best.ratio));
    }
  }
}

void export_witnesses(const Ledger& ledger, const std::vector<AttackTarget>& targets,
                      const std::filesystem::path& folder) {
  for (const LedgerEntry& e : ledger.entries) {
    if (!of_target(e, targets)) continue;
    const std::string file = fmt::format("{}.{}.{}.safetensors", e.kernel, info(e.format).name, name(*e.term));
    const Origin origin = e.origin();
    write_witness(folder / file, {{origin.spec, origin.make()}, {{"kernel", e.kernel}}});
  }
}

int validate_command(const AttackArguments& a) {
  Filters filters{a.kernels, {}, a.formats};
  if (filters.kernels.empty()) {
    for (const Kernel* kernel : select_kernels({})) {
      if (kernel->form == Form::hardened) filters.kernels.emplace_back(kernel->id);
    }
  }
  ValidateOptions options;
  options.cases = a.validate;
  options.first_seed = a.seed;
  options.jobs = jobs_for(a.jobs);
  Validation validation;
  {
    Progress progress("cases");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    validation = validate_bounds(filters, options);
  }
  print(validation_table(validation));
  print(fmt::format("{} runs of a kernel in {:.1f} s, {:.0f}/s on {} workers\n", validation.runs, validation.seconds,
                    static_cast<double>(validation.runs) / std::max(validation.seconds, 1e-3), options.jobs));
  const bool none = !validation.partial && validation.runs == 0;
  if (none) say("no case was executed, so nothing was tested");
  const bool finding = std::any_of(validation.records.begin(), validation.records.end(), [](const Record& r) {
    return r.kernel->form == Form::hardened && violations(r) > 0;
  });
  return closing_code(validation.partial, validation.failure, finding || none);
}

}  // namespace

int attack_command(const AttackArguments& a) {
  check_arguments(a);
  const std::vector<AttackTarget> targets = targets_of(a);
  if (targets.empty()) throw UsageError("--kernel, --format: no selected kernel has a selected format");
  const Ledger old = option_file("--ledger", [&] { return read_ledger(a.ledger, true); });
  require_places(a);
  stop_on_signals();
  if (a.validate > 0) return validate_command(a);
  if (old.entries.empty()) say("--ledger " + a.ledger + ": is empty or not there: the search begins from nothing");

  AttackOptions options;
  options.seconds = a.seconds;
  options.jobs = jobs_for(a.jobs);
  options.seed = a.seed;
  options.out = a.out;
  AttackResult result;
  {
    Progress progress("slices");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    result = attack(targets, old, options);
  }
  const Ledger ledger = updated(old, result, targets, a.reason);
  Ledger shown = ledger;
  std::erase_if(shown.entries, [&](const LedgerEntry& e) { return !of_target(e, targets); });
  print(terms_table(shown));
  print_changes(old, result, targets);
  bool finding = false;
  for (const AttackFinding& f : result.findings) {
    const bool expected = f.target.kernel->form != Form::hardened;
    finding = finding || !expected;
    print(fmt::format("{}: {} {}: {}{}\n", expected ? "expected" : "FINDING", f.target.kernel->id,
                      info(f.target.format).name, one_line(f.what),
                      f.witness.empty() ? "" : "\n  ./flashproof replay " + one_line(f.witness)));
  }
  print(fmt::format("{} evaluations\n", result.evaluations));
  if (a.update) {
    write_atomically(a.ledger, ledger_text(ledger));
    say("wrote " + a.ledger);
  } else {
    say("the ledger was not written; --update --reason TEXT writes it");
  }
  if (!a.export_to.empty()) export_witnesses(ledger, targets, a.export_to);
  return closing_code(result.partial, result.failure, finding);
}

}  // namespace flashproof
