// report.json, as it is read: the checks that make a document plain data.
#include "reports/views/html/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "reference/problem/error.h"
#include "reports/views/html/schema.h"

namespace flashproof::html {
namespace {

constexpr std::size_t kMostCells = 64;  // of a heat map, each way
constexpr int kLowestRatio = -56;

Counts counts_of(const Json& object) {
  Counts counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = count(object, kVerdicts[i].data());
  return counts;
}

Octaves octaves(const Json& object, const char* key) {
  Octaves result;
  const Json& bins = object_member(object, key);
  for (const auto& [name, value] : bins.items()) {
    const std::uint64_t n = count(bins, name.c_str());
    if (name == "zero") {
      result.zero = n;
      continue;
    }
    int bin = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), bin);
    if (error != std::errc() || end != name.data() + name.size() || bin < -1100 || bin > 1100) {
      throw UsageError(fmt::format(".{}: a key must be \"zero\" or a power of two in -1100..1100", key));
    }
    if (n > 0) result.bins[bin] = n;
  }
  return result;
}

Figure figure(const std::string& tensor, const Json& f) {
  Figure result;
  result.tensor = visible(tensor);
  result.elements = count(f, "elements");
  result.finite = count(f, "finite_elements");
  result.max_ulp = number(f, "max_ulp");
  result.mean_ulp = number(f, "mean_ulp");
  result.rmse = number(f, "rmse");
  result.max_abs = number(f, "max_abs");
  result.max_ratio = number(f, "max_ratio");
  const Json& bias = object_member(f, "bias");
  result.bias = number(bias, "mean");
  result.bias_limit = number(bias, "limit");
  result.bias_elements = count(bias, "elements");
  result.biased = flag(bias, "biased");
  result.investigate = count(object_member(f, "probable"), "investigate");
  result.ratio = octaves(f, "ratio_octaves");
  // The lowest bin holds everything below, results without any error too.
  if (const auto lowest = result.ratio.bins.find(kLowestRatio); lowest != result.ratio.bins.end()) {
    result.ratio.zero += lowest->second;
    result.ratio.bins.erase(lowest);
  }
  result.ulp = octaves(f, "ulp_octaves");
  return result;
}

std::vector<Point> points(const Json& profile, const char* key) {
  std::vector<Point> result;
  for (const Json& p : list_member(profile, key)) {
    within(fmt::format(".profile.{}", key), [&] {
      if (!p.is_array() || p.size() != 4) throw UsageError("a point must be [at, cases, max_ratio, max_ulp]");
      const Json named{{"at", p[0]}, {"max_ratio", p[2]}, {"max_ulp", p[3]}};
      const std::optional<double> at = number(named, "at");
      if (!at || std::isnan(*at)) throw UsageError(R"("at" must be a number)");
      result.push_back({*at, number(named, "max_ratio"), number(named, "max_ulp")});
    });
  }
  std::stable_sort(result.begin(), result.end(), [](const Point& a, const Point& b) { return a.at < b.at; });
  return result;
}

Heat heat(const Json& h) {
  Heat result{text(h, "tensor"),
              count(h, "rows"),
              count(h, "cols"),
              std::max<std::uint64_t>(1, count(h, "cell_rows")),
              std::max<std::uint64_t>(1, count(h, "cell_cols")),
              {}};
  for (const Json& row : list_member(h, "cells")) {
    if (!row.is_string()) throw UsageError(R"("cells" must hold strings)");
    const auto& cells = row.get_ref<const std::string&>();
    const bool known = cells.find_first_not_of("0123456789XNIFU.") == std::string::npos;
    if (!known || cells.empty() || cells.size() > kMostCells || result.cells.size() == kMostCells ||
        (!result.cells.empty() && cells.size() != result.cells[0].size())) {
      throw UsageError(R"("cells" must be at most 64 strings of one length, at most 64, of 0-9XNIFU and .)");
    }
    result.cells.push_back(cells);
  }
  return result;
}

Witness witness(const Json& w) {
  Witness result{text(w, "case"), text(w, "verdict"), text(w, "detail"), {}, text(w, "file"), text(w, "replay")};
  const std::string tensor = text(w, "tensor");
  if (!tensor.empty()) result.element = fmt::format("{}[{}]", tensor, text(w, "index"));
  result.computed = number(w, "computed");
  result.exact = number(w, "exact");
  result.error = number(w, "error");
  result.ratio = number(w, "ratio");
  return result;
}

/// The precondition that came nearest to failing inside the domain, as words.
std::string nearest(const Json& domain) {
  std::string result;
  double most = -1;
  for (const Json& p : list_member(domain, "preconditions")) {
    const Json& inside = object_member(p, "nearest_inside");
    const double load = number(inside, "load").value_or(-1);
    if (!(load > most)) continue;
    most = load;
    result = fmt::format("{:.2g} of the limit: {} ({:.3g}, limit {:.3g})", load, text(p, "name"),
                         number(inside, "value").value_or(NAN), number(inside, "limit").value_or(NAN));
  }
  return result;
}

void read_terms(const Json& terms, Record& r) {
  if (terms.is_null()) return;
  auto& sizes = r.terms.emplace();
  for (std::size_t i = 0; i < kTerms.size(); ++i) sizes[i] = number(terms, kTerms[i]).value_or(0);
  r.dominating = text(terms, "dominating");
}

Record record(const Json& json) {
  Record r;
  r.kernel = text(json, "kernel");
  r.problem = text(json, "problem");
  r.form = text(json, "form");
  r.format = text(json, "format");
  r.executor = text(json, "executor");
  r.math = text(json, "math");
  r.family = text(json, "family");
  r.verdict = text(json, "verdict");
  r.cases = count(json, "cases");
  within(".counts", [&] {
    const Json& counts = object_member(json, "counts");
    r.by_case = counts_of(object_member(counts, "cases"));
    r.open_elements = counts_of(object_member(counts, "elements"))[kInconclusive];
  });
  within(".failures", [&] {
    const Json& cases = object_member(object_member(json, "failures"), "cases");
    for (std::size_t i = 0; i < kFailureNames.size(); ++i) r.failures[i] = count(cases, kFailureNames[i].data());
  });
  r.ratio = number(json, "max_ratio");
  within(".terms", [&] { read_terms(member(json, "terms"), r); });
  for (const auto& [tensor, f] : object_member(json, "figures").items()) {
    within(".figures." + visible(tensor), [&] { r.figures.push_back(figure(tensor, f)); });
  }
  const Json& profile = object_member(json, "profile");
  for (std::size_t i = 0; i < kProfiles.size(); ++i) r.profile[i] = points(profile, kProfiles[i]);
  if (const Json& h = member(json, "heat"); !h.is_null()) within(".heat", [&] { r.heat = heat(h); });
  if (const Json& w = member(json, "witness"); !w.is_null()) within(".witness", [&] { r.witness = witness(w); });
  for (const auto& [law, counts] : object_member(json, "laws").items()) {
    within(".laws." + visible(law), [&] { r.laws.emplace_back(visible(law), counts_of(counts)); });
  }
  within(".domain", [&] {
    const Json& domain = object_member(json, "domain");
    r.domain_rows = count(domain, "rows");
    r.domain_outside = count(domain, "outside");
    r.domain_nearest = nearest(domain);
  });
  within(".ledger", [&] {
    const Json& ledger = object_member(json, "ledger");
    r.best_known = number(ledger, "ratio");
    r.beaten = flag(ledger, "beaten");
  });
  return r;
}

Investigation investigation(const Json& json) {
  Investigation i{text(json, "kernel"),
                  text(json, "format"),
                  text(json, "family"),
                  text(json, "tensor"),
                  text(json, "what"),
                  text(json, "case"),
                  {},
                  {}};
  const Json& assumption = object_member(json, "assumption");
  i.key = text(assumption, "key");
  i.text = text(assumption, "text");
  i.elements = count(json, "elements");
  i.of = count(json, "of");
  i.index = count(json, "index");
  i.ratio = number(json, "ratio");
  return i;
}

void run(const Json& json, View& view) {
  auto& facts = view.runs.emplace_back();
  for (const auto& [name, value] : json.items()) {
    if (value.is_object() || value.is_array() || value.is_null()) continue;
    facts[visible(name)] = text(json, name.c_str());
  }
  const Json& partial = member(json, "partial");
  if (partial.is_string() || (partial.is_boolean() && partial.get<bool>())) {
    view.partial.push_back(partial.is_string() ? text(json, "partial") : "interrupted");
  }
  view.cases += count(json, "cases");
  view.kernel_runs += count(json, "kernel_runs");
  if (const auto wall = number(object_member(json, "timing"), "wall_seconds")) {
    facts["wall time"] = fmt::format("{:.1f} s", *wall);
  }
}

}  // namespace

View read_view(const Json& document) {
  require_schema(document);
  View view;
  std::size_t i = 0;
  for (const Json& json : list_member(document, "runs")) {
    within(fmt::format("runs[{}]", i++), [&] { run(json, view); });
  }
  i = 0;
  for (const Json& json : list_member(document, "records")) {
    within(fmt::format("records[{}]", i++), [&] { view.records.push_back(record(json)); });
  }
  i = 0;
  for (const Json& json : list_member(document, "investigate")) {
    within(fmt::format("investigate[{}]", i++), [&] { view.investigate.push_back(investigation(json)); });
  }
  const Json& faults = object_member(document, "faults");
  if (!faults.empty()) view.faults = &faults;
  const Json& bench = object_member(document, "bench");
  if (!bench.empty()) view.bench = &bench;
  return view;
}

}  // namespace flashproof::html
