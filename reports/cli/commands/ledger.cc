// ledger [FILE ...]: the worst error/bound ever seen of each kernel, format and architecture; how reports, campaigns of fuzz and
// other ledgers stand to it, and with --update, what beats it taken in.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "fuzz/campaign/regressions.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/ledger/against.h"
#include "reports/ledger/tables.h"
#include "reports/ledger/text.h"
#include "reports/record/report.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kLongestReason = 300;

void check_arguments(const LedgerArguments& a) {
  if (a.update && a.reason.empty()) throw UsageError("--update: needs --reason TEXT, where the figures come from");
  if (!a.update && !a.reason.empty()) throw UsageError("--reason: only together with --update");
  if (a.update && a.files.empty()) throw UsageError("--update: needs a FILE to take figures from");
  if (a.reason.size() > kLongestReason || a.reason != one_line(a.reason)) {
    throw UsageError(fmt::format("--reason: one line of at most {} bytes", kLongestReason));
  }
  const bool gpu = a.architecture.empty() || (is_architecture(a.architecture) && a.architecture.starts_with("sm_") &&
                                              !a.architecture.ends_with(".native"));
  if (!gpu) throw UsageError("--architecture " + quote(a.architecture) + ": must be sm_NN, as sm_90");
}

std::vector<LedgerEntry> measured_of_campaign(const std::string& folder, const std::string& gpu) {
  Ledger best;
  for (const auto& [line, executor] : worst_lines(folder)) {
    const bool on_gpu = executor == name(Executor::cuda);
    if (on_gpu && gpu.empty()) {
      throw UsageError(one_line(folder) + ": it has cases of a GPU: name it with --architecture, legal: sm_NN");
    }
    const auto format = parse_format(line.format);
    if (!format) throw UsageError(one_line(folder) + ": format " + quote(line.format) + " does not exist");
    // Of a kernel whose bits depend on the schedule, which an entry does not name, the figure would not be found again.
    if (const Kernel* kernel = find_kernel(line.kernel); kernel != nullptr && !kernel->contract.deterministic) continue;
    best.offer({.kernel = checked_kernel(line.kernel),
                .format = *format,
                .architecture = on_gpu ? gpu : "cpu",
                .best = {.ratio = line.ratio},
                .case_line = to_string(line.origin.spec),
                .mutations = line.origin.mutations});
  }
  return best.entries;
}

std::vector<LedgerEntry> measured_of_file(const std::string& file, const std::string& gpu) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return measured_of_campaign(file, gpu);
  return measured_of(read_ledger_file(file), one_line(file), gpu);
}

std::string change_line(const LedgerEntry& m, const LedgerEntry* known) {
  return fmt::format("  {} {} {}: {} -> {:.6g}  {}\n", m.kernel, info(m.format).name, m.architecture,
                     known == nullptr ? "new" : fmt::format("{:.6g}", known->best.ratio), m.best.ratio,
                     one_line(m.case_line));
}

}  // namespace

int ledger_command(const LedgerArguments& a) {
  check_arguments(a);
  Ledger ledger = option_file("--ledger", [&] { return read_ledger(a.ledger, a.update); });
  std::vector<LedgerEntry> measured;
  for (const std::string& file : a.files) {
    for (LedgerEntry& m : measured_of_file(file, a.architecture)) measured.push_back(std::move(m));
  }
  if (a.update) {
    require_writable_file(a.ledger, "--ledger");
  }
  std::string text;
  if (a.files.empty()) {
    text = whole_bounds_table(ledger);
  } else {
    const std::string summary = against_line(measured, ledger);
    for (const LedgerEntry& m : measured) {
      const LedgerEntry* known = ledger.find(m.kernel, m.format, std::nullopt, m.architecture);
      if (known != nullptr && !beats(m.best.ratio, known->best.ratio)) continue;
      text += change_line(m, known);
      if (a.update) ledger.raise(m, a.reason);
    }
    text += summary.empty() ? "nothing was measured\n" : summary;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (a.update) {
    write_atomically(a.ledger, ledger_text(ledger));
    say("wrote " + one_line(a.ledger));
  }
  return kExitFine;
}

}  // namespace flashproof
