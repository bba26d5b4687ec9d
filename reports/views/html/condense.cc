// The records in the form that the page's script reads: one array per record in the order of "fields", what occurs more than
// once by its place in "pool" (pack.h), figures with three digits. page/data.js unfolds it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "reports/views/html/pack.h"
#include "reports/views/html/parts.h"

namespace flashproof::html {
namespace {

/// The records whose heat maps go into the page: hardened kernels first, while they fit.
std::set<const Record*> heats_shown(const View& view) {
  constexpr std::size_t kMost = 250'000;  // characters
  std::set<const Record*> shown;
  using Key =
      std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::vector<std::string>>;
  std::set<Key> known;  // as packed_heat() tells them apart: each stands in the page once
  std::size_t size = 0;
  for (const char* form : {"hardened", "published", "broken"}) {
    for (const Record& r : view.records) {
      if (r.form != form || !r.heat || r.heat->cells.empty()) continue;
      const std::size_t more = r.heat->cells.size() * (r.heat->cells[0].size() + 3);
      const Heat& h = *r.heat;
      if (const Key key{h.tensor, h.rows, h.cols, h.cell_rows, h.cell_cols, h.cells}; !known.contains(key)) {
        if (size + more > kMost) continue;
        size += more;
        known.insert(key);
      }
      shown.insert(&r);
    }
  }
  return shown;
}

struct Field {
  const char* name;
  Json (*value)(const Record&, Pool&);
};

constexpr auto kFields = std::to_array<Field>({
    {"kernel", [](const Record& r, Pool& p) { return Json(p.words.index(r.kernel)); }},
    {"problem", [](const Record& r, Pool& p) { return Json(p.words.index(r.problem)); }},
    {"form", [](const Record& r, Pool& p) { return Json(p.words.index(r.form)); }},
    {"format", [](const Record& r, Pool& p) { return Json(p.words.index(r.format)); }},
    {"executor", [](const Record& r, Pool& p) { return Json(p.words.index(r.executor)); }},
    {"math", [](const Record& r, Pool& p) { return Json(p.words.index(r.math)); }},
    {"family", [](const Record& r, Pool& p) { return Json(p.words.index(r.family)); }},
    {"verdict", [](const Record& r, Pool& p) { return Json(p.words.index(r.verdict)); }},
    {"cases", [](const Record& r, Pool&) { return Json(r.cases); }},
    {"counts", [](const Record& r, Pool&) { return packed_counts(r); }},
    {"failures", [](const Record& r, Pool&) { return r.failed() ? Json(r.failures) : Json(); }},
    {"ratio", [](const Record& r, Pool&) { return shortened(r.ratio, 4); }},
    {"terms", [](const Record& r, Pool&) { return packed_terms(r); }},
    {"dominating", [](const Record& r, Pool& p) { return Json(p.words.index(r.dominating)); }},
    {"figures", packed_figures},
    {"mean", [](const Record& r, Pool&) { return packed_mean_ulp(r); }},
    {"ratios", [](const Record& r, Pool& p) { return packed_octaves(r, &Figure::ratio, p); }},
    {"ulps", [](const Record& r, Pool& p) { return packed_octaves(r, &Figure::ulp, p); }},
    {"profile", packed_profile},
    {"witness", packed_witness},
    {"laws", packed_laws},
    {"domain", packed_domain},
    {"ledger", packed_ledger},
});

}  // namespace

std::string condensed(const View& view) {
  Pool pool;
  Json::array_t fields, rows;
  for (const Field& field : kFields) fields.emplace_back(field.name);
  fields.emplace_back("heat");  // -1: there is one, in report.json only
  const std::set<const Record*> with_heat = heats_shown(view);
  for (const Record& r : view.records) {
    Json::array_t& row = rows.emplace_back(Json::array()).get_ref<Json::array_t&>();
    for (const Field& field : kFields) row.push_back(field.value(r, pool));
    row.push_back(with_heat.contains(&r) ? packed_heat(*r.heat, pool) : r.heat ? Json(-1) : Json());
  }
  Json::array_t verdicts(kVerdicts.begin(), kVerdicts.end()), failures(kFailureNames.begin(), kFailureNames.end());
  const Json shared{{"figures", pool.figures.list()}, {"octaves", pool.octaves.list()}, {"axes", pool.axes.list()},
                    {"domains", pool.domains.list()}, {"ledgers", pool.ledgers.list()}, {"heats", pool.heats.list()}};
  const Json document{{"verdicts", verdicts},  {"failures", failures}, {"terms", kTerms},
                      {"profiles", kProfiles}, {"fields", fields},     {"strings", pool.words.list()},
                      {"pool", shared},        {"rows", rows}};
  // ASCII, so U+2028 is an escape already; '<', '>' and '&' occur only inside strings, so that an escape is the same text there.
  std::string out;
  for (const char c : document.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace flashproof::html
