// The table in its three forms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/faults/kill_table.h"
#include "reports/markdown_parts.h"
#include "reports/text.h"

namespace flashproof {
namespace {

using markdown_parts::cell;

std::vector<std::string> rejecting(const FaultOutcome& outcome) {
  std::vector<std::string> names;
  for (const LawOutcome& law : outcome.laws) {
    if (law.rejects) names.push_back(law.law);
  }
  return names;
}

std::string_view habit(const FaultOutcome& outcome, const HabitResult& result) {
  if (!outcome.habits_asked) return "–";
  return result.sees ? "sees it" : "passes";
}

/// "exp2 by ulp: down to 30 ulp by within_bound, ..."
std::vector<std::string> dose_lines(const FaultOutcome& outcome) {
  const Dose& dose = outcome.fault->dose;
  std::vector<std::string> lines;
  for (const double step : dose.ladder) {
    std::vector<std::string> names;
    for (const LawOutcome& law : outcome.laws) {
      if (law.weakest_dose == step) names.push_back(law.law);
    }
    if (names.empty()) continue;
    lines.push_back(fmt::format("{:g}: {}", step, fmt::join(names, ", ")));
  }
  return lines;
}

std::string closing(const KillTable& table) {
  const auto survivors = table.survivors();
  const auto missed = static_cast<std::size_t>(
      std::ranges::count_if(table.faults, [](const FaultOutcome& o) { return o.habits_asked && !o.gross(); }));
  const auto asked = static_cast<std::size_t>(std::ranges::count_if(table.faults, &FaultOutcome::habits_asked));
  return fmt::format("{} of {} faults rejected; today's habits miss {} of {}.", table.faults.size() - survivors.size(),
                     table.faults.size(), missed, asked);
}

std::string why_partial(const KillTable& table) {
  return table.failure.empty() ? "interrupted" : one_line(table.failure);
}

std::string partial_line(const KillTable& table) {
  return table.partial ? fmt::format("PARTIAL: {}\n", why_partial(table)) : "";
}

}  // namespace

std::string kill_table_text(const KillTable& table) {
  std::string out = "Seeded faults x laws. allclose, 2x: what today's habits say of the same kernel on N(0, 1).\n\n";
  out += fmt::format("{:<4} {:<45} {:<9} {:<9} {}\n", "", "fault", "allclose", "2x", "rejected by");
  for (const FaultOutcome& o : table.faults) {
    const auto names = rejecting(o);
    out += fmt::format("{:<4} {:<45} {:<9} {:<9} {}\n", o.fault->number, o.fault->id, habit(o, o.allclose),
                       habit(o, o.twice), names.empty() ? "SURVIVES" : fmt::format("{}", fmt::join(names, " ")));
  }
  out += "\nDose: the weakest that a law rejects\n";
  for (const FaultOutcome& o : table.faults) {
    if (o.fault->dose.unit.empty()) continue;
    out += fmt::format("  {} {} in {}, registered {:g}\n", o.fault->number, o.fault->id, o.fault->dose.unit,
                       o.fault->dose.registered);
    for (const std::string& line : dose_lines(o)) out += "    " + line + "\n";
  }
  return out + "\n" + partial_line(table) + closing(table) + "\n";
}

std::string kill_table_markdown(const KillTable& table) {
  std::string out = fmt::format(
      "# Seeded faults and laws\n\n{}{}\n\nThe faults are described in `kernels/broken/README.md`, the laws in "
      "`./flashproof list laws`. *allclose*, *2x*: today's habits on the same kernel, N(0, 1).\n\n"
      "| # | fault | defect | allclose | 2x | rejected by |\n|---|---|---|---|---|---|\n",
      partial_line(table), closing(table));
  for (const FaultOutcome& o : table.faults) {
    const auto names = rejecting(o);
    out += fmt::format("| {} | `{}` | {} | {} | {} | {} |\n", o.fault->number, o.fault->id, cell(o.fault->defect),
                       habit(o, o.allclose), habit(o, o.twice),
                       names.empty() ? "**survives**" : fmt::format("{}", fmt::join(names, ", ")));
  }
  out +=
      "\n## Doses\n\nThe weakest dose that a law rejects.\n\n| # | fault | unit | registered | dose: laws |\n"
      "|---|---|---|--:|---|\n";
  for (const FaultOutcome& o : table.faults) {
    if (o.fault->dose.unit.empty()) continue;
    out += fmt::format("| {} | `{}` | {} | {:g} | {} |\n", o.fault->number, o.fault->id, cell(o.fault->dose.unit),
                       o.fault->dose.registered, fmt::join(dose_lines(o), "; "));
  }
  return out;
}

std::string kill_table_json(const KillTable& table) {
  using Json = nlohmann::json;
  Json faults = Json::array();
  for (const FaultOutcome& o : table.faults) {
    Json laws = Json::object();
    for (const LawOutcome& law : o.laws) {
      Json entry = {{"rejects", law.rejects}, {"executed", law.executed}};
      if (law.rejects) entry.update({{"case", law.where}, {"detail", law.why}});
      if (!o.fault->dose.unit.empty())
        entry["weakest_dose"] = std::isnan(law.weakest_dose) ? Json() : Json(law.weakest_dose);
      laws[law.law] = entry;
    }
    Json fault = {{"number", o.fault->number}, {"id", o.fault->id},       {"kernel", o.fault->kernel},
                  {"defect", o.fault->defect}, {"from", o.fault->source}, {"laws", laws}};
    if (o.habits_asked) {
      fault["habits"] = {{"allclose", {{"sees", o.allclose.sees}, {"where", o.allclose.where}}},
                         {"twice_reference", {{"sees", o.twice.sees}, {"where", o.twice.where}}}};
    }
    if (!o.fault->dose.unit.empty()) {
      fault["dose"] = {{"unit", o.fault->dose.unit},
                       {"registered", o.fault->dose.registered},
                       {"ladder", std::vector<double>(o.fault->dose.ladder.begin(), o.fault->dose.ladder.end())}};
    }
    faults.push_back(fault);
  }
  Json document = {{"partial", table.partial}, {"faults", faults}, {"survivors", table.survivors().size()}};
  if (table.partial) document["partial_reason"] = why_partial(table);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flashproof
