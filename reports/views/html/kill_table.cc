// Seeded faults down, laws across: who notices what.
#include <fmt/format.h>

#include <set>

#include "reports/views/html/attached.h"
#include "reports/views/html/markup.h"
#include "reports/views/html/parts.h"

namespace flashproof::html {
namespace {

std::string habit(const Json& habits, const char* key) {
  const Json& answer = member(habits, key);
  if (answer.is_null()) return "<td class=\"unsupported\">–</td>";
  if (flag(answer, "sees")) return "<td class=\"sees\">sees</td>";
  const bool tested = !answer.contains("tested") || flag(answer, "tested");
  return tested ? "<td class=\"misses\">misses</td>" : "<td class=\"unsupported\">untested</td>";
}

/// "down to 30 ulp", of a fault that is seeded in doses.
std::string dose(const Json& fault, const Json& law) {
  const auto weakest = number(law, "weakest_dose");
  return weakest ? fmt::format("down to {:g} {}", *weakest, text(member(fault, "dose"), "unit")) : "";
}

std::string law_cell(const Json& law, bool& rejected) {
  if (law.is_null()) return "<td></td>";
  if (!flag(law, "rejects")) return count(law, "executed") > 0 ? "<td class=\"quiet\">·</td>" : "<td></td>";
  rejected = true;
  return "<td class=\"sees\">●</td>";
}

/// Which case each law rejects, and in what words.
std::string evidence(const Json& faults) {
  std::string rows;
  for (const Json& fault : faults) {
    const Json& laws = member(fault, "laws");
    for (const auto& [name, law] : laws.items()) {
      if (!flag(member(laws, name.c_str()), "rejects")) continue;
      rows += fmt::format(
          "<tr><th scope=\"row\" class=\"id\">{} {}</th><td class=\"id\">{}</td><td class=\"id\">{}</td><td>{}</td>"
          "<td>{}</td></tr>\n",
          escaped(text(fault, "number")), escaped(text(fault, "id")), escaped(name), escaped(text(law, "case")),
          escaped(text(law, "detail")), escaped(dose(fault, law)));
    }
  }
  return "<details><summary>The case that each law rejects</summary>\n" +
         scrolling("what each law rejects",
                   "<table class=\"list\"><caption>The case that each law rejects, and down to which dose</caption>\n"
                   "<thead><tr>" +
                       column("fault") + column("law") + column("case") + column("what") + column("dose") +
                       "</tr></thead>\n<tbody>\n" + rows + "</tbody></table>\n") +
         "</details>\n";
}

std::string row(const Json& fault, const std::set<std::string>& names) {
  const Json& laws = member(fault, "laws");
  std::string cells;
  bool rejected = false;
  for (const std::string& name : names) cells += law_cell(member(laws, name.c_str()), rejected);
  const Json habits = fault.value("habits", Json::object());
  return fmt::format(
      "<tr{}><th scope=\"row\"><span class=\"num\">{}</span> {}<small>{}</small></th>{}{}<td>{}</td>{}</tr>\n",
      rejected ? "" : " class=\"survivor\"", escaped(text(fault, "number")), escaped(text(fault, "id")),
      escaped(text(fault, "defect")), habit(habits, "allclose"), habit(habits, "twice_reference"),
      rejected                  ? "✓"
      : fault.contains("crash") ? "<span class=\"bad\">ended its process</span>"
                                : "<span class=\"bad\">survives</span>",
      cells);
}

}  // namespace

std::string kill_table(const Report& report) {
  if (report.faults.empty()) return "";
  const Json all = Json::parse(report.faults);
  const Json& faults = all["faults"];
  std::set<std::string> names;
  for (const Json& fault : faults) {
    for (const auto& [law, outcome] : member(fault, "laws").items()) names.insert(law);
  }
  std::string table =
      "<table class=\"matrix kills\"><caption>Seeded faults down, laws across</caption>\n<thead><tr>"
      "<th scope=\"col\" class=\"corner\">fault</th><th scope=\"col\"><span>allclose</span></th>"
      "<th scope=\"col\"><span>twice the reference</span></th><th scope=\"col\"><span>rejected</span></th>";
  for (const std::string& name : names) table += fmt::format("<th scope=\"col\"><span>{}</span></th>", escaped(name));
  table += "</tr></thead>\n<tbody>\n";
  for (const Json& fault : faults) table += row(fault, names);
  const std::uint64_t survivors = count(all, "survivors");
  const std::string partial = flag(all, "partial") ? text(all, "partial_reason") + ": this table is partial. " : "";
  return fmt::format(
      "<section aria-labelledby=\"kills\"><h2 id=\"kills\">Seeded faults</h2>\n<p>{}{} of {} rejected by at least "
      "one law. ● "
      "rejects, · looked and did not, empty: had nothing to look at. <i>allclose</i> and "
      "<i>twice the "
      "reference</i>: how kernels are commonly tested, on N(0, 1).</p>\n{}{}</section>\n",
      escaped(partial), faults.size() >= survivors ? faults.size() - survivors : 0, faults.size(),
      scrolling("table of seeded faults", table + "</tbody></table>\n"), evidence(faults));
}

}  // namespace flashproof::html
