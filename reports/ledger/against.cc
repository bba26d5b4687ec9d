#include "reports/ledger/against.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/system/error.h"
#include "reports/ledger/text.h"
#include "reports/record/read_report.h"
#include "reports/run/ledger_note.h"

namespace flashproof {
namespace {

std::vector<LedgerEntry> measured_of_report(std::string_view text, const std::string& name, const std::string& gpu) {
  const Report report = read_report_text(text, name);
  const auto is_gpu = [](const Record& r) { return r.executor == Executor::cuda; };
  try {
    if (gpu.empty() && std::ranges::any_of(report.result.records, is_gpu)) {
      throw UsageError("it has records made on a GPU: name it with --architecture, legal: sm_NN");
    }
    std::vector<LedgerEntry> list = measured_of(report.result.records, gpu);
    for (const LedgerEntry& e : list) {
      checked_kernel(e.kernel);
      checked_case(e.case_line, std::nullopt);
    }
    return list;
  } catch (const UsageError& e) {
    throw UsageError(name + ": " + e.what());
  }
}

}  // namespace

std::vector<std::optional<AgainstKnown>> against(std::span<const LedgerEntry> measured, const Ledger& ledger) {
  std::vector<std::optional<AgainstKnown>> list;
  for (const LedgerEntry& m : measured) {
    const LedgerEntry* known = ledger.find(m.kernel, m.format, std::nullopt, m.architecture);
    list.emplace_back();
    if (known != nullptr) list.back() = {known->best.ratio, beats(m.best.ratio, known->best.ratio)};
  }
  return list;
}

std::string against_line(std::span<const LedgerEntry> measured, const Ledger& ledger) {
  if (measured.empty()) return "";
  const auto compared = against(measured, ledger);
  std::size_t fresh = 0, beaten = 0;
  std::string first;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!compared[i]) ++fresh;
    if (!compared[i] || !compared[i]->beaten) continue;
    ++beaten;
    if (!first.empty()) continue;
    first = fmt::format(", {} {} on {}: {:.6g} of its bound, known {:.6g}", measured[i].kernel,
                        info(measured[i].format).name, measured[i].architecture, measured[i].best.ratio,
                        compared[i]->ratio);
  }
  return fmt::format("ledger: {} of {} kernel x format x architecture beat the worst error/bound known{}{}\n", beaten,
                     measured.size(), first, fresh > 0 ? fmt::format("; of {} nothing is known", fresh) : "");
}

std::vector<LedgerEntry> measured_of(std::string_view text, const std::string& name, const std::string& gpu) {
  if (!is_ledger(text)) return measured_of_report(text, name, gpu);
  Ledger best;
  for (LedgerEntry& e : parse_ledger(text, name).entries) best.offer(of_whole_bound(std::move(e)));
  return best.entries;
}

}  // namespace flashproof
