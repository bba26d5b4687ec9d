// The plots that need no scripting: all hardened kernels together, one line per problem.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "reports/statistics/octaves.h"
#include "reports/views/html/markup.h"
#include "reports/views/html/parts.h"
#include "reports/views/html/svg.h"

namespace flashproof::html {
namespace {

constexpr const char* kAbscissa[] = {"columns, states or keys", "largest size of the input", "merges per row"};

bool plotted(const Record& r) { return r.kernel->form == Form::hardened; }

/// 0 stands one octave to the left of the smallest power of two that occurs.
struct Scale {
  int low = 1 << 20, high = -(1 << 20);
  bool zero = false;

  void see(double at) {
    if (at == 0) zero = true;
    if (!(at > 0) || !std::isfinite(at)) return;
    low = std::min(low, std::ilogb(at));
    high = std::max(high, std::ilogb(at));
  }
  bool empty() const { return low > high && !zero; }
  void close() {
    if (low > high) low = high = 0;
    if (zero) --low;
    if (low == high) ++high;
  }
  double position(double at) const { return at > 0 ? std::log2(at) : low; }
  Axis axis(const char* title) const {
    Axis axis{title, static_cast<double>(low), static_cast<double>(high), {}};
    const int step = std::max(1, (high - low + 7) / 8);
    if (zero) axis.ticks.emplace_back(low, "0");
    for (int e = zero ? low + 1 : low; e <= high; e += step)
      axis.ticks.emplace_back(e, e >= 0 && e <= 13 ? grouped(1U << static_cast<unsigned>(e)) : fmt::format("2^{}", e));
    return axis;
  }
};

/// Linear from 0 to 1, or by powers of ten from a hundredth on.
struct ErrorScale {
  bool logarithmic = false;
  double most = 1;

  double position(double error) const { return logarithmic ? std::log10(std::max(error, 0.01)) : error; }
  Axis axis(const char* title) const {
    if (!logarithmic) return {title, 0, 1, {{0, "0"}, {0.25, "0.25"}, {0.5, "0.5"}, {0.75, "0.75"}, {1, "1"}}};
    Axis axis{title, -2, std::max(1.0, std::ceil(std::log10(most))), {}};
    const int step = std::max(1, static_cast<int>(axis.high + 2) / 6);
    for (int e = -2; e <= static_cast<int>(axis.high); e += step) {
      axis.ticks.emplace_back(e, e >= -2 && e <= 3 ? fmt::format("{:g}", std::pow(10, e)) : fmt::format("10^{}", e));
    }
    return axis;
  }
};

std::string table_of(const char* caption, const char* first, const char* second,
                     const std::vector<std::tuple<std::string, std::string, std::string>>& rows) {
  std::string out = fmt::format(
      "<details><summary>As a table</summary><table "
      "class=\"list\"><caption>{}</caption><thead><tr>{}{}{}</tr></thead><tbody>\n",
      escaped(caption), column("series"), column(first, "n"), column(second, "n"));
  for (const auto& [name, x, y] : rows) {
    out += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                       escaped(name), x, y);
  }
  return out + "</tbody></table></details>\n";
}

std::string figure(const std::string& plot, const std::string& table) {
  return "<figure>" + plot + table + "</figure>\n";
}

/// The worst over all hardened kernels of a problem, against length, magnitude or merges.
std::string profile_plot(const Report& report, std::size_t which, bool in_ulp) {
  std::map<std::string, std::map<double, double>> worst;  // problem -> at -> error
  Scale scale;
  double most = 1;
  for (const Record& r : report.result.records) {
    if (!plotted(r)) continue;
    for (const auto& [octave, point] : r.profile.*kAxes[which]) {
      const double at = edge_of(octave), y = in_ulp ? point.max_ulp : point.max_ratio;
      if (!std::isfinite(y)) continue;
      scale.see(at);
      double& top = worst[std::string(name(r.kernel->problem))].try_emplace(at, 0).first->second;
      top = std::max(top, y);
      most = std::max(most, top);
    }
  }
  if (scale.empty()) return "";
  scale.close();
  const ErrorScale scale_of{in_ulp || most > 1, most};
  std::vector<Series> series;
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  for (const auto& [problem, points] : worst) {
    Series& s = series.emplace_back(Series{problem, {}});
    for (const auto& [at, y] : points) {
      s.points.emplace_back(scale.position(at), scale_of.position(y));
      rows.emplace_back(problem, fmt::format("{:.4g}", at), shown(y));
    }
  }
  const Axis y = scale_of.axis(in_ulp ? "worst error in ulp" : "worst error / bound");
  const std::string title = fmt::format("Error against {}", kProfiles[which]);
  const std::string what = fmt::format("{} of all hardened kernels, by problem", y.title);
  return figure(line_plot(title, what, scale.axis(kAbscissa[which]), y, series),
                table_of((title + ": " + what).c_str(), kProfiles[which], in_ulp ? "ulp" : "error / bound", rows));
}

std::string histogram(const Report& report, bool in_ulp) {
  std::map<int, std::uint64_t> bins;
  for (const Record& r : report.result.records) {
    if (!plotted(r)) continue;
    for (const Part part : parts(r.kernel->problem)) {
      for (const auto& [bin, n] : in_ulp ? octaves_of(r[part]).counts : ratio_octaves(r[part])) bins[bin] += n;
    }
  }
  const std::uint64_t zero = bins[kExact];
  bins.erase(kExact);
  if (bins.empty()) return "";
  Axis x{in_ulp ? "log2 of the error in ulp" : "log2 of error / bound",
         bins.begin()->first - 1.0,
         bins.rbegin()->first + 2.0,
         {}};
  std::vector<std::pair<double, double>> bars;
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  double most = 1;
  if (zero > 0) rows.emplace_back(in_ulp ? "exact" : "exact or below 2^-55", "–", grouped(zero));
  for (const auto& [bin, n] : bins) {
    bars.emplace_back(bin, std::log10(static_cast<double>(n)) + 0.3);  // a single element still shows
    most = std::max(most, bars.back().second);
    rows.emplace_back("octave", std::to_string(bin), grouped(n));
  }
  const int step = std::max(1, static_cast<int>(x.high - x.low) / 10);
  for (int b = static_cast<int>(x.low); b <= static_cast<int>(x.high); b += step)
    x.ticks.emplace_back(b, std::to_string(b));
  Axis y{"elements", 0, std::ceil(most), {}};
  for (int p = 0; p < static_cast<int>(y.high); ++p)
    y.ticks.emplace_back(p + 0.3,
                         p < 4 ? grouped(static_cast<std::uint64_t>(std::pow(10, p))) : fmt::format("10^{}", p));
  const std::string title = in_ulp ? "How far off elements are, in ulp" : "How much of their bound elements use";
  return figure(bar_plot(title, "elements of all hardened kernels, by octave", x, y, 1, bars),
                table_of(title.c_str(), "octave", "elements", rows));
}

std::string term_bars(const Report& report) {
  std::map<std::string, const Record*> worst;
  for (const Record& r : report.result.records) {
    if (!plotted(r) || !r.worst || r.max_ratio() == -1 || !std::isfinite(r.max_ratio())) continue;
    const Record*& w = worst[label(r)];
    if (w == nullptr || r.max_ratio() > w->max_ratio()) w = &r;
  }
  std::vector<StackedBar> bars;
  for (const auto& [kernel, r] : worst) {
    const auto terms = terms_of(*r->worst);
    const double sum = std::accumulate(terms.begin(), terms.end(), 0.0);
    if (!(sum > 0) || !std::isfinite(sum)) continue;
    StackedBar& bar = bars.emplace_back(StackedBar{kernel, {}, fmt::format("{} of it", shown(r->max_ratio()))});
    for (const double t : terms) bar.parts.push_back(t / sum);
  }
  if (bars.empty()) return "";
  std::string table =
      "<details><summary>As a table</summary><table class=\"list\"><caption>Shares of the bound, in per "
      "cent</caption><thead><tr>" +
      column("kernel");
  for (const char* term : kTerms) table += column(term, "n");
  table += "</tr></thead><tbody>\n";
  for (const StackedBar& bar : bars) {
    table += fmt::format("<tr><th scope=\"row\" class=\"id\">{}</th>", escaped(bar.name));
    for (const double part : bar.parts) table += fmt::format("<td class=\"n\">{:.0f}</td>", 100 * part);
    table += "</tr>\n";
  }
  return "<figure class=\"wide\">" +
         stacked_plot("Who uses the bound: its four terms at each kernel's worst element",
                      "one bar per hardened kernel", {kTerms.begin(), kTerms.end()}, bars) +
         table + "</tbody></table></details></figure>\n";
}

std::string heat_maps(const Report& report) {
  constexpr std::size_t kMost = 8;
  std::vector<const Record*> shown_records;
  for (const Form form : {Form::hardened, Form::published}) {
    for (const Record& r : report.result.records) {
      if (r.kernel->form == form && shown_heat(r) != nullptr && shown_records.size() < kMost)
        shown_records.push_back(&r);
    }
  }
  std::string out;
  for (const Record* r : shown_records) {
    const std::string title = fmt::format("{} {} {}", label(*r), info(r->format).name, r->family);
    const HeatMap& heat = *shown_heat(*r);
    std::string text;
    for (const std::string& row : heat.cells) text += row + "\n";
    out += "<figure>" +
           heat_plot(title, fmt::format("which elements of {} are wrong; the same as text below", heat.tensor),
                     heat.cells) +
           "<details><summary>As text</summary><pre>" + text + "</pre></details></figure>\n";
  }
  if (out.empty()) return "";
  return "<h3>Where outputs are wrong</h3>\n<p>Of the worst case of a failing record, hardened kernels first. Shades: "
         "error / bound "
         "in tenths; X above the bound, N NaN, I inf, F a number where inf or NaN is right, U never written.</p>\n<div "
         "class=\"plots\">" +
         out + "</div>\n";
}

}  // namespace

std::map<int, std::uint64_t> ratio_octaves(const ErrorStats& stats) {
  constexpr int kLowest = -56;  // holds everything below, results without any error too
  std::map<int, std::uint64_t> octaves;
  for (std::size_t i = 0; i < stats.ratio_octaves.size(); ++i) {
    if (stats.ratio_octaves[i] != 0) octaves[i == 0 ? kExact : static_cast<int>(i) + kLowest] = stats.ratio_octaves[i];
  }
  return octaves;
}

std::string static_plots(const Report& report) {
  std::string out;
  for (const bool in_ulp : {false, true}) {
    for (std::size_t which = 0; which < kProfiles.size(); ++which) out += profile_plot(report, which, in_ulp);
  }
  for (const bool in_ulp : {false, true}) out += histogram(report, in_ulp);
  out += term_bars(report);
  if (out.empty()) out = "<p>No hardened kernel was measured.</p>\n";
  return "<div class=\"plots\">" + out + "</div>\n" + heat_maps(report);
}

}  // namespace flashproof::html
