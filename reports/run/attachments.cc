#include "reports/run/attachments.h"

#include <fmt/format.h>

#include "reports/views/terminal/text.h"

namespace flashproof {

using namespace markdown_parts;
using nlohmann::json;

namespace {

void require_habit(const JsonAt& at) {
  at["sees"].flag();
  at["where"].text();
  if (at.has("tested")) at["tested"].flag();
}

std::string compact(const JsonAt& at) { return at.value().dump(-1, ' ', false, json::error_handler_t::replace); }

void require_object(const JsonAt& at) {
  if (!at.value().is_object()) at.refuse("an object");
}

std::string habit(const json& fault, const char* which) {
  if (!fault.contains("habits")) return "–";
  const json& habit = fault["habits"][which];
  return habit["sees"].get<bool>() ? "sees it" : habit.value("tested", true) ? "passes" : "untested";
}

/// "within_bound, shift_invariance"; of a fault with a dose each down to its weakest.
std::string rejecting(const json& fault) {
  std::string out;
  for (const auto& [law, says] : fault["laws"].items()) {
    if (!says["rejects"].get<bool>()) continue;
    out += (out.empty() ? "" : ", ") + law;
    if (says.contains("weakest_dose") && says["weakest_dose"].is_number()) {
      out += fmt::format(" (down to {:g})", says["weakest_dose"].get<double>());
    }
  }
  return out;
}

}  // namespace

std::string checked_faults(const JsonAt& at) {
  at["partial"].flag();
  at["survivors"].count();
  const JsonAt faults = at["faults"];
  for (std::size_t i = 0; i < faults.items(); ++i) {
    const JsonAt fault = faults.item(i);
    for (const char* key : {"number", "id", "kernel", "defect", "from"}) fault[key].text();
    const JsonAt laws = fault["laws"];
    require_object(laws);
    for (const auto& entry : laws.value().items()) {
      const JsonAt law = laws[entry.key()];
      law["rejects"].flag();
      law["executed"].count();
      if (law.has("weakest_dose") && !law["weakest_dose"].null()) law["weakest_dose"].number();
    }
    if (fault.has("habits")) {
      require_habit(fault["habits"]["allclose"]);
      require_habit(fault["habits"]["twice_reference"]);
    }
    if (fault.has("dose")) fault["dose"]["unit"].text();
    if (fault.has("crash")) fault["crash"].text();
  }
  return compact(at);
}

std::string checked_bench(const JsonAt& at) {
  require_object(at["context"]);
  const JsonAt list = at["benchmarks"];
  for (std::size_t i = 0; i < list.items(); ++i) {
    const JsonAt one = list.item(i);
    one["name"].text();
    if (one.has("error_occurred") && one["error_occurred"].flag()) continue;
    if (one.has("big_o") || one.has("rms")) continue;  // a fit, no time
    one["real_time"].number();
    one["time_unit"].text();
  }
  return compact(at);
}

Section fault_table(const Report& report) {
  Section section;
  if (report.faults.empty()) return section;
  const json table = json::parse(report.faults);
  for (const json& fault : table["faults"]) {
    const std::string by = rejecting(fault);
    section.rows.push_back(fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell(fault["number"].get<std::string>()),
                                       code(fault["id"].get<std::string>()), cell(fault["defect"].get<std::string>()),
                                       habit(fault, "allclose"), habit(fault, "twice_reference"),
                                       !by.empty()               ? cell(by)
                                       : fault.contains("crash") ? "**ended its process**"
                                                                 : "**survives**"));
  }
  section.head = fmt::format(
      "## Seeded faults x laws\n\n{}{} faults, {} survive every law. allclose, 2x: what today's habits say of the same "
      "kernel on N(0, 1).\n\n| # | fault | defect | allclose | 2x | rejected by |\n|---|---|---|---|---|---|\n",
      table["partial"].get<bool>() ? "**Partial.** " : "", table["faults"].size(),
      table["survivors"].get<std::uint64_t>());
  return section;
}

Section bench_table(const Report& report) {
  Section section;
  if (report.bench.empty()) return section;
  const json bench = json::parse(report.bench);
  section.head = "## Speed\n\nAs Google Benchmark measured it.\n\n| benchmark | time | items/s |\n|---|--:|--:|\n";
  for (const json& one : bench["benchmarks"]) {
    const bool timed = one.contains("real_time") && one["real_time"].is_number();
    const std::string time =
        timed ? short_number(one["real_time"].get<double>()) + " " + one["time_unit"].get<std::string>() : "–";
    const bool counted = one.contains("items_per_second") && one["items_per_second"].is_number();
    section.rows.push_back(fmt::format("| {} | {} | {} |\n", code(one["name"].get<std::string>()), cell(time),
                                       counted ? short_number(one["items_per_second"].get<double>()) : "–"));
  }
  return section;
}

}  // namespace flashproof
