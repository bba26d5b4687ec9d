// The table in its three forms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/faults/kill_table.h"
#include "reports/views/markdown/markdown_parts.h"
#include "reports/views/terminal/text.h"

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
  return result.sees ? "sees it" : result.tested ? "passes" : "untested";
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

/// What no law saw, a line each: faults, doses weaker than any that is rejected, and laws that do not do what they promise.
std::vector<std::string> survivor_lines(const KillTable& table) {
  std::vector<std::string> lines;
  for (const FaultOutcome& o : table.faults) {
    const std::string fault = fmt::format("{} {}", o.fault->number, o.fault->id);
    if (!o.crash.empty()) {
      lines.push_back(fmt::format("{}: its process {}: not decided", fault, one_line(o.crash)));
      continue;
    }
    if (!o.rejected()) lines.push_back(fmt::format("{}: rejected by no law: {}", fault, o.fault->defect));
    if (const auto doses = o.surviving_doses(); !doses.empty()) {
      lines.push_back(
          fmt::format("{}: {} of {} rejected by no law", fault, o.fault->dose.unit, fmt::join(doses, ", ")));
    }
    for (const std::string& law : o.toothless_laws()) {
      lines.push_back(fmt::format("{}: {} must reject it and does not on these cases", fault, law));
    }
  }
  return lines;
}

/// "rightly", "nothing"; "WRONGLY: heads.first".
std::string diagnosis(const FaultOutcome& outcome) {
  if (!outcome.crash.empty()) return "–";
  std::string text(name(outcome.named()));
  if (outcome.named() != Named::wrongly) return text;
  for (const Cause& cause : outcome.causes) {
    if (cause.confident) return "WRONGLY: " + cause.id;
  }
  return text;
}

/// A line per fault: what the diagnosis says of it with confidence.
std::vector<std::string> diagnosis_lines(const KillTable& table) {
  std::vector<std::string> lines;
  for (const FaultOutcome& o : table.faults) {
    if (!o.crash.empty()) continue;
    std::string said;
    for (const Cause& cause : o.causes) {
      if (!cause.confident) continue;
      said += (said.empty() ? "" : "; ") + cause.sentence;
      if (!cause.condition.empty()) said += ", " + cause.condition;
    }
    lines.push_back(
        fmt::format("{} {}: {}: {}", o.fault->number, o.fault->id, diagnosis(o), said.empty() ? "–" : one_line(said)));
  }
  return lines;
}

std::string_view none_rejects(const FaultOutcome& outcome, std::string_view survives) {
  return outcome.crash.empty() ? survives : "ENDED ITS PROCESS";
}

std::string closing(const KillTable& table) {
  const auto survivors = table.survivors();
  const auto missed = static_cast<std::size_t>(
      std::ranges::count_if(table.faults, [](const FaultOutcome& o) { return o.habits_tested() && !o.gross(); }));
  const auto asked = static_cast<std::size_t>(std::ranges::count_if(table.faults, &FaultOutcome::habits_tested));
  const std::size_t crashed = table.crashed().size();
  const auto said = [&](Named named) {
    return std::ranges::count_if(table.faults,
                                 [&](const FaultOutcome& o) { return o.crash.empty() && o.named() == named; });
  };
  return fmt::format(
      "{} of {} faults rejected{}; today's habits miss {} of {}; the diagnosis names {} rightly, {} wrongly.",
      table.faults.size() - survivors.size() - crashed, table.faults.size(),
      crashed > 0 ? fmt::format(", {} ended their process", crashed) : "", missed, asked, said(Named::rightly),
      said(Named::wrongly));
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
  out += fmt::format("{:<4} {:<45} {:<9} {:<9} {:<9} {}\n", "", "fault", "allclose", "2x", "named", "rejected by");
  for (const FaultOutcome& o : table.faults) {
    const auto names = rejecting(o);
    out += fmt::format(
        "{:<4} {:<45} {:<9} {:<9} {:<9} {}\n", o.fault->number, o.fault->id, habit(o, o.allclose), habit(o, o.twice),
        diagnosis(o),
        names.empty() ? std::string(none_rejects(o, "SURVIVES")) : fmt::format("{}", fmt::join(names, " ")));
  }
  out += "\nDiagnosis: the causes that it is confident of\n";
  for (const std::string& line : diagnosis_lines(table)) out += "  " + line + "\n";
  out += "\nDose: the weakest that a law rejects\n";
  for (const FaultOutcome& o : table.faults) {
    if (o.fault->dose.unit.empty()) continue;
    out += fmt::format("  {} {} in {}, registered {:g}\n", o.fault->number, o.fault->id, o.fault->dose.unit,
                       o.fault->dose.registered);
    for (const std::string& line : dose_lines(o)) out += "    " + line + "\n";
  }
  const auto survivors = survivor_lines(table);
  out += "\nSurvivors\n";
  for (const std::string& line : survivors) out += "  " + line + "\n";
  if (survivors.empty()) out += "  none\n";
  return out + "\n" + partial_line(table) + closing(table) + "\n";
}

std::string kill_table_markdown(const KillTable& table) {
  std::string out = fmt::format(
      "# Seeded faults and laws\n\n{}{}\n\nThe faults are described in `kernels/broken/README.md`, the laws in "
      "`./flashproof list laws`. *allclose*, *2x*: today's habits on the same kernel, N(0, 1).\n\n"
      "| # | fault | defect | allclose | 2x | named | rejected by |\n|---|---|---|---|---|---|---|\n",
      partial_line(table), closing(table));
  for (const FaultOutcome& o : table.faults) {
    const auto names = rejecting(o);
    out += fmt::format(
        "| {} | `{}` | {} | {} | {} | {} | {} |\n", o.fault->number, o.fault->id, cell(o.fault->defect),
        habit(o, o.allclose), habit(o, o.twice), cell(diagnosis(o)),
        names.empty() ? std::string(none_rejects(o, "**survives**")) : fmt::format("{}", fmt::join(names, ", ")));
  }
  out += "\n## Diagnosis\n\nThe causes that it is confident of, against the field `cause` of each fault.\n\n";
  for (const std::string& line : diagnosis_lines(table)) out += "- " + cell(line) + "\n";
  out +=
      "\n## Doses\n\nThe weakest dose that a law rejects.\n\n| # | fault | unit | registered | dose: laws |\n"
      "|---|---|---|--:|---|\n";
  for (const FaultOutcome& o : table.faults) {
    if (o.fault->dose.unit.empty()) continue;
    out += fmt::format("| {} | `{}` | {} | {:g} | {} |\n", o.fault->number, o.fault->id, cell(o.fault->dose.unit),
                       o.fault->dose.registered, fmt::join(dose_lines(o), "; "));
  }
  out += "\n## Survivors\n\n";
  const auto survivors = survivor_lines(table);
  for (const std::string& line : survivors) out += "- " + cell(line) + "\n";
  if (survivors.empty()) out += "None: every fault, every dose, every law that names a fault.\n";
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
      fault["habits"] = {
          {"allclose", {{"sees", o.allclose.sees}, {"where", o.allclose.where}, {"tested", o.allclose.tested}}},
          {"twice_reference", {{"sees", o.twice.sees}, {"where", o.twice.where}, {"tested", o.twice.tested}}}};
    }
    if (!o.fault->dose.unit.empty()) {
      fault["dose"] = {{"unit", o.fault->dose.unit},
                       {"registered", o.fault->dose.registered},
                       {"ladder", std::vector<double>(o.fault->dose.ladder.begin(), o.fault->dose.ladder.end())}};
    }
    if (o.crash.empty()) {
      Json causes = Json::array();
      for (const Cause& c : o.causes)
        causes.push_back({{"id", c.id},
                          {"sentence", c.sentence},
                          {"condition", c.condition},
                          {"others", c.others},
                          {"cases", c.cases},
                          {"failing_cases", c.failing_cases},
                          {"elements", c.elements},
                          {"witness", c.witness},
                          {"confident", c.confident}});
      fault["diagnosis"] = {{"named", name(o.named())}, {"right", o.fault->cause}, {"causes", causes}};
    }
    if (!o.crash.empty()) fault["crash"] = one_line(o.crash);
    if (const auto doses = o.surviving_doses(); !doses.empty()) fault["surviving_doses"] = doses;
    if (const auto names = o.toothless_laws(); !names.empty()) fault["toothless_laws"] = names;
    faults.push_back(fault);
  }
  Json document = {{"partial", table.partial}, {"faults", faults}, {"survivors", table.survivors().size()}};
  if (table.partial) document["partial_reason"] = why_partial(table);
  return document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace flashproof
