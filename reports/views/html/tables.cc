// The plain tables: kernels, what to investigate, speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reports/statistics/octaves.h"
#include "reports/views/html/attached.h"
#include "reports/views/html/markup.h"
#include "reports/views/html/parts.h"
#include "reports/views/terminal/table_cells.h"

namespace flashproof::html {
namespace {

/// The records of one kernel, format, executor and math, families together.
struct KernelRow {
  Record sum;
  std::uint64_t biased = 0;  // families and tensors
  const Record* worst = nullptr;

  void add(const Record& r) {
    if (worst == nullptr) sum.kernel = r.kernel;
    sum.merge(r);
    for (const Part part : parts(r.kernel->problem)) {
      if (part != Part::lse && r[part].finite_elements > 0 && r[part].biased()) ++biased;
    }
    const bool first = worst == nullptr;
    if (first || (failed(r) == failed(*worst) ? worse_ratio(r.max_ratio(), worst->max_ratio()) : failed(r))) worst = &r;
  }
};

std::string bias(const KernelRow& row, const ErrorStats& values) {
  if (values.bias_elements == 0) return "–";
  return short_number(values.bias()) + (row.biased > 0 ? fmt::format(", {} biased", grouped(row.biased)) : "");
}

std::string row_text(const KernelRow& row) {
  const Record &sum = row.sum, &worst = *row.worst;
  std::string out =
      fmt::format("<tr><th scope=\"row\" class=\"id\">{}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>",
                  escaped(label(worst)), name(worst.kernel->form), info(worst.format).name, name(worst.executor),
                  grouped(sum.cases));
  for (const VerdictKind kind : {VerdictKind::pass, VerdictKind::undecided, VerdictKind::vacuous,
                                 VerdictKind::out_of_domain, VerdictKind::unsupported, VerdictKind::inconclusive}) {
    out += fmt::format("<td class=\"n{}\">{}</td>", sum.count(kind) == 0 ? " zero" : "", grouped(sum.count(kind)));
  }
  const std::uint64_t fails = sum.count(VerdictKind::fail);
  out += fails == 0 ? "<td class=\"n zero\">0</td>"
                    : fmt::format("<td class=\"n\"><span class=\"bad\">{}</span></td>", grouped(fails));
  const ErrorStats values = sum.values();
  const bool measured = values.finite_elements > 0;
  out += fmt::format(
      "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td>"
      "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
      measured ? short_number(values.max_ulp) : "–",
      measured ? escaped(between_text(mean_ulp(octaves_of(values)))) : "–",
      measured ? short_number(values.rmse()) : "–", bias(row, values), shown(worst.max_ratio()),
      worst.worst ? dominating_term(worst.worst->element.bound) : "",
      worst.worst ? term_shares(worst.worst->element.bound) : "–",
      sum.lse.finite_elements > 0 ? short_number(sum.lse.max_abs) : "–", command(replay_command(worst)));
  return out;
}

/// "12.3 M/s"
std::string rate(std::optional<double> per_second) {
  if (!per_second || !std::isfinite(*per_second)) return "–";
  constexpr std::pair<double, const char*> kScales[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}};
  for (const auto& [scale, letter] : kScales) {
    if (std::fabs(*per_second) >= scale)
      return fmt::format("{:.3g} {}/s", scale > 0 ? *per_second / scale : *per_second, letter);
  }
  return "–";
}

}  // namespace

std::string kernel_table(const Report& report) {
  std::map<std::tuple<bool, std::string, std::string_view, std::string_view>, KernelRow> rows;
  for (const Record& r : report.result.records) {
    rows[{r.kernel->form == Form::broken, label(r), info(r.format).name, name(r.executor)}].add(r);
  }
  std::string out = "<table class=\"list\"><caption>Each kernel, families together</caption>\n<thead><tr>";
  for (const char* name : {"kernel", "form", "format", "executor"}) out += column(name);
  for (const char* name : {"cases", "pass", "undecided", "vacuous", "outside", "unsupported", "open", "fail", "max ulp",
                           "mean ulp", "RMSE", "bias", "err / bound"}) {
    out += column(name, "n");
  }
  out += column("mostly") + column("weights, numerator, denominator, output %", "n") + column("lse error", "n") +
         column("worst case") + "</tr></thead>\n<tbody>\n";
  for (const auto& [key, row] : rows) out += row_text(row);
  return scrolling("table of kernels", out + "</tbody></table>\n");
}

std::string investigation_table(const std::vector<Investigation>& odd) {
  if (odd.empty()) return "";
  constexpr std::size_t kMost = 100;
  std::string out = fmt::format(
      "<section aria-labelledby=\"investigate\"><h2 id=\"investigate\">To investigate</h2>\n<p>Passed, but above what "
      "chance "
      "explains{}.</p>\n",
      odd.size() > kMost ? fmt::format("; the first {} of {}", kMost, odd.size()) : "");
  std::string table = "<table class=\"list\"><caption>Above the probable bound, or biased</caption>\n<thead><tr>" +
                      column("kernel") + column("family") + column("format") + column("what") +
                      column("elements", "n") + column("ratio", "n") + column("worst") + column("most likely broken") +
                      "</tr></thead>\n<tbody>\n";
  for (std::size_t n = 0; n < std::min(odd.size(), kMost); ++n) {
    const Investigation& i = odd[n];
    table += fmt::format(
        "<tr><th scope=\"row\" class=\"id\">{}</th><td class=\"id\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{} of "
        "{}</td>"
        "<td class=\"n\">{}</td><td class=\"id\">{}</td><td>{}</td></tr>\n",
        escaped(i.record->kernel->id), escaped(i.record->family), info(i.record->format).name,
        i.bias ? "biased" : "above probable", grouped(i.elements), grouped(i.of), shown(i.ratio),
        i.bias ? "–" : escaped(fmt::format("{}[{}] of {}", name(i.part), i.witness.index, i.case_line)),
        i.bias ? "" : escaped(fmt::format("{}: {}", i.assumption.key, i.assumption.text)));
  }
  return out + scrolling("to investigate", table + "</tbody></table>\n") + "</section>\n";
}

std::string speed_table(const Report& report) {
  if (report.bench.empty()) return "";
  const Json bench = Json::parse(report.bench);
  std::string rows;
  for (const Json& b : bench["benchmarks"]) {
    const std::string unit = text(b, "time_unit");
    const auto time = [&](const char* key) {
      const auto value = number(b, key);
      return value ? fmt::format("{:.4g} {}", *value, escaped(unit)) : std::string("–");
    };
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"id\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        escaped(text(b, "name")), time("real_time"), time("cpu_time"), grouped(count(b, "iterations")),
        rate(number(b, "items_per_second")), rate(number(b, "bytes_per_second")));
  }
  const Json& context = bench["context"];
  std::string facts;
  for (const char* key : {"date", "num_cpus", "mhz_per_cpu", "library_build_type"}) {
    if (const std::string value = text(context, key); !value.empty())
      facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", key, value);
  }
  return fmt::format(
      "<section aria-labelledby=\"bench\"><h2 id=\"bench\">Speed</h2>\n<p>{}</p>\n{}</section>\n", escaped(facts),
      scrolling("table of speeds", "<table class=\"list\"><caption>Google Benchmark</caption>\n<thead><tr>" +
                                       column("benchmark") + column("time", "n") + column("CPU time", "n") +
                                       column("iterations", "n") + column("items", "n") + column("bytes", "n") +
                                       "</tr></thead>\n<tbody>\n" + rows + "</tbody></table>\n"));
}

}  // namespace flashproof::html
