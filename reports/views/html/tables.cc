// The plain tables: kernels, what to investigate, speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reports/views/html/markup.h"
#include "reports/views/html/parts.h"
#include "reports/views/terminal/table_cells.h"

namespace flashproof::html {
namespace {

/// The records of one kernel, format, executor and math, families together.
struct KernelRow {
  Counts by_case{};
  std::uint64_t cases = 0, finite = 0;
  double squares = 0;  // sum of squared errors, all tensors but lse
  UlpOctaves ulps = {};
  double bias_sum = 0, bias_elements = 0;  // of all tensors but lse
  std::uint64_t biased = 0;                // families and tensors
  std::optional<double> ulp = {}, lse = {};
  const Record* worst = nullptr;

  void add(const Record& r) {
    for (std::size_t i = 0; i < by_case.size(); ++i) by_case[i] += r.by_case[i];
    cases += r.cases;
    ulp = worse(ulp, r.max_ulp());
    for (const Figure& f : r.figures) {
      if (f.finite == 0) continue;
      if (f.tensor == "lse") {
        lse = worse(lse, f.max_abs);
        continue;
      }
      ulps.merge(ulp_octaves(f.ulp));
      const auto elements = static_cast<double>(f.bias_elements);
      bias_sum += f.bias.value_or(0) * elements;
      bias_elements += elements;
      biased += f.biased ? 1 : 0;
      if (!f.rmse) continue;
      finite += f.finite;
      squares += *f.rmse * *f.rmse * static_cast<double>(f.finite);
    }
    const bool first = worst == nullptr;
    if (first || (r.failed() == worst->failed() ? is_worse(r.ratio, worst->ratio) : r.failed())) worst = &r;
  }
  std::string bias() const {
    if (!(bias_elements > 0)) return "–";
    return short_number(bias_sum / bias_elements) + (biased > 0 ? fmt::format(", {} biased", grouped(biased)) : "");
  }
  std::string mean() const { return ulps.elements() == 0 ? "–" : escaped(between_text(mean_ulp(ulps))); }
  std::optional<double> rmse() const {
    return finite == 0 ? std::nullopt : std::optional(std::sqrt(squares / static_cast<double>(finite)));
  }
};

std::string row_text(const Record& of, const KernelRow& k) {
  std::string out =
      fmt::format("<tr><th scope=\"row\" class=\"id\">{}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>",
                  escaped(of.label()), escaped(of.form), escaped(of.format), escaped(of.executor), grouped(k.cases));
  for (const std::size_t i : {kPass, kUndecided, kVacuous, kOutOfDomain, kUnsupported, kInconclusive}) {
    out += fmt::format("<td class=\"n{}\">{}</td>", k.by_case[i] == 0 ? " zero" : "", grouped(k.by_case[i]));
  }
  const std::uint64_t fails = k.by_case[kFail];
  out += fails == 0 ? "<td class=\"n zero\">0</td>"
                    : fmt::format("<td class=\"n\"><span class=\"bad\">{}</span></td>", grouped(fails));
  out += fmt::format(
      "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td>"
      "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
      shown(k.ulp), k.mean(), shown(k.rmse()), k.bias(), shown(k.worst->ratio), escaped(k.worst->dominating),
      k.worst->terms ? term_shares(*k.worst->terms) : "–", shown(k.lse),
      k.worst->witness ? command(k.worst->witness->replay) : "");
  return out;
}

void require_object(const Json& json) {
  if (!json.is_object()) member(json, "");  // throws, and says so
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

std::string kernel_table(const View& view) {
  std::map<std::tuple<bool, std::string, std::string, std::string>, std::pair<const Record*, KernelRow>> rows;
  for (const Record& r : view.records) {
    auto& [of, row] = rows[{r.form == "broken", r.label(), r.format, r.executor}];
    if (of == nullptr) of = &r;
    row.add(r);
  }
  std::string out = "<table class=\"list\"><caption>Each kernel, families together</caption>\n<thead><tr>";
  for (const char* name : {"kernel", "form", "format", "executor"}) out += column(name);
  for (const char* name : {"cases", "pass", "undecided", "vacuous", "outside", "unsupported", "open", "fail", "max ulp",
                           "mean ulp", "RMSE", "bias", "err / bound"}) {
    out += column(name, "n");
  }
  out += column("mostly") + column("weights, numerator, denominator, output %", "n") + column("lse error", "n") +
         column("worst case") + "</tr></thead>\n<tbody>\n";
  for (const auto& [key, row] : rows) out += row_text(*row.first, row.second);
  return scrolling("table of kernels", out + "</tbody></table>\n");
}

std::string investigations(const View& view) {
  if (view.investigate.empty()) return "";
  constexpr std::size_t kMost = 100;
  std::string out = fmt::format(
      "<section aria-labelledby=\"investigate\"><h2 id=\"investigate\">To investigate</h2>\n<p>Passed, but above what "
      "chance "
      "explains{}.</p>\n",
      view.investigate.size() > kMost ? fmt::format("; the first {} of {}", kMost, view.investigate.size()) : "");
  std::string table = "<table class=\"list\"><caption>Above the probable bound, or biased</caption>\n<thead><tr>" +
                      column("kernel") + column("family") + column("format") + column("what") +
                      column("elements", "n") + column("ratio", "n") + column("worst") + column("most likely broken") +
                      "</tr></thead>\n<tbody>\n";
  for (std::size_t n = 0; n < std::min(view.investigate.size(), kMost); ++n) {
    const Investigation& i = view.investigate[n];
    const bool biased = i.what == "biased";
    table += fmt::format(
        "<tr><th scope=\"row\" class=\"id\">{}</th><td class=\"id\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{} of "
        "{}</td>"
        "<td class=\"n\">{}</td><td class=\"id\">{}</td><td>{}</td></tr>\n",
        escaped(i.kernel), escaped(i.family), escaped(i.format), biased ? "biased" : "above probable",
        grouped(i.elements), grouped(i.of), shown(i.ratio),
        biased ? "–" : escaped(fmt::format("{}[{}] of {}", i.tensor, i.index, i.line)),
        biased ? "" : escaped(i.key + ": " + i.text));
  }
  return out + scrolling("to investigate", table + "</tbody></table>\n") + "</section>\n";
}

std::string bench_table(const View& view) {
  if (view.bench == nullptr) return "";
  std::string rows;
  std::size_t i = 0;
  for (const Json& b : list_member(*view.bench, "benchmarks")) {
    within(fmt::format("bench.benchmarks[{}]", i++), [&] {
      require_object(b);
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
    });
  }
  const Json& context = object_member(*view.bench, "context");
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
