// The records in the form that the page's script reads: one array per record in the order of "fields", what occurs more than
// once by its place in "pool" (pack.h), figures with three digits. page/data.js unfolds it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "reports/views/html/pack.h"
#include "reports/views/html/parts.h"

namespace flashproof::html {
namespace {

/// The records whose heat maps go into the page: hardened kernels first, while they fit.
std::set<const Record*> heats_shown(const Report& report) {
  constexpr std::size_t kMost = 250'000;  // characters
  std::set<const Record*> shown;
  std::set<std::string> known;  // each stands in the page once
  std::size_t size = 0;
  for (const Form form : {Form::hardened, Form::published, Form::broken}) {
    for (const Record& r : report.result.records) {
      const HeatMap* heat = shown_heat(r);
      if (r.kernel->form != form || heat == nullptr) continue;
      const std::size_t more = heat->cells.size() * (heat->cells[0].size() + 3);
      if (const std::string text = heat->serialize(); !known.contains(text)) {
        if (size + more > kMost) continue;
        size += more;
        known.insert(text);
      }
      shown.insert(&r);
    }
  }
  return shown;
}

/// By failure, from the second on: the first is none.
Json packed_failures(const Record& r, Pool&) {
  if (!failed(r)) return {};
  return Json::array_t(r.failures_by_case.begin() + 1, r.failures_by_case.end());
}

struct Field {
  const char* name;
  Json (*value)(const Record&, Pool&);
};

constexpr auto kFields = std::to_array<Field>({
    {"kernel", [](const Record& r, Pool& p) { return Json(p.words.index(r.kernel->id)); }},
    {"problem", [](const Record& r, Pool& p) { return Json(p.words.index(name(r.kernel->problem))); }},
    {"form", [](const Record& r, Pool& p) { return Json(p.words.index(name(r.kernel->form))); }},
    {"format", [](const Record& r, Pool& p) { return Json(p.words.index(info(r.format).name)); }},
    {"executor", [](const Record& r, Pool& p) { return Json(p.words.index(name(r.executor))); }},
    {"math", [](const Record& r, Pool& p) { return Json(p.words.index(name(r.kernel->math))); }},
    {"family", [](const Record& r, Pool& p) { return Json(p.words.index(r.family)); }},
    {"verdict", [](const Record& r, Pool& p) { return Json(p.words.index(name(r.verdict()))); }},
    {"cases", [](const Record& r, Pool&) { return Json(r.cases); }},
    {"counts", [](const Record& r, Pool&) { return packed_counts(r); }},
    {"failures", packed_failures},
    {"ratio", [](const Record& r, Pool&) { return r.max_ratio() == -1 ? Json() : shortened(r.max_ratio(), 4); }},
    {"terms", [](const Record& r, Pool&) { return packed_terms(r); }},
    {"dominating", [](const Record& r,
                      Pool& p) { return Json(p.words.index(r.worst ? dominating_term(r.worst->element.bound) : "")); }},
    {"figures", packed_figures},
    {"mean", [](const Record& r, Pool&) { return packed_mean_ulp(r); }},
    {"ratios", packed_ratio_octaves},
    {"ulps", packed_ulp_octaves},
    {"profile", packed_profile},
    {"witness", packed_witness},
    {"laws", packed_laws},
    {"domain", packed_domain},
    {"ledger", packed_ledger},
});

}  // namespace

std::string condensed(const Report& report) {
  Pool pool;
  Json::array_t fields, rows;
  for (const Field& field : kFields) fields.emplace_back(field.name);
  fields.emplace_back("heat");  // -1: there is one, in report.json only
  const std::set<const Record*> with_heat = heats_shown(report);
  for (const Record& r : report.result.records) {
    Json::array_t& row = rows.emplace_back(Json::array()).get_ref<Json::array_t&>();
    for (const Field& field : kFields) row.push_back(field.value(r, pool));
    row.push_back(with_heat.contains(&r)     ? packed_heat(*shown_heat(r), pool)
                  : shown_heat(r) != nullptr ? Json(-1)
                                             : Json());
  }
  Json::array_t verdicts, failures;
  for (const VerdictKind kind : kShownKinds) verdicts.emplace_back(name(kind));
  for (std::size_t i = 1; i < kFailures; ++i) failures.emplace_back(name(static_cast<Failure>(i)));
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
