// The records in the form that the page's script reads: one array per record in the order of "fields", every word once in
// "strings" and by its index elsewhere, figures with three digits. page/data.js unfolds it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <unordered_map>

#include "reports/html/parts.h"
#include "reports/text.h"

namespace flashproof::html {
namespace {

class Words {
 public:
  std::size_t index(const std::string& word) {
    const auto [at, added] = index_.try_emplace(word, list_.size());
    if (added) list_.push_back(word);
    return at->second;
  }
  const Json::array_t& list() const { return list_; }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  Json::array_t list_;
};

Json exactly(std::optional<double> value) {
  if (!value) return {};
  if (std::isnan(*value)) return "nan";
  if (std::isinf(*value)) return *value > 0 ? "inf" : "-inf";
  return *value;
}

Json shortened(std::optional<double> value, int digits = 3) {
  if (!value || !std::isfinite(*value)) return exactly(value);
  const double rounded = std::strtod(fmt::format("{:.{}g}", *value, digits).c_str(), nullptr);
  if (rounded == std::trunc(rounded) && std::fabs(rounded) < 1e15)
    return static_cast<std::int64_t>(rounded);  // 1, not 1.0
  return std::isfinite(rounded) ? Json(rounded) : exactly(value);
}

/// "exact results,lowest octave,elements of it,of the next,..." to base 36: half of the page would be these in decimal.
Json octaves(const Octaves& o) {
  std::string list;
  const auto add = [&](auto value) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value, 36).ptr;
    if (!list.empty()) list += ',';
    list.append(digits, end);
  };
  add(o.zero);
  if (o.bins.empty()) return list;
  int next = o.bins.begin()->first;
  add(next);
  for (const auto& [bin, n] : o.bins) {
    for (; next < bin; ++next) add(0);
    add(n);
    ++next;
  }
  return list;
}

/// The octave below which `share` of the elements lie, as text.
std::string quantile(const Octaves& o, double share) {
  const UlpOctaves octaves = ulp_octaves(o);
  return octaves.elements() == 0 ? "–" : octave_text(octaves.quantile(share));
}

/// Zeros at the end are left out.
Json figure(const Figure& f, Words& words) {
  Json::array_t list{words.index(f.tensor),
                     f.elements,
                     f.elements - std::min(f.finite, f.elements),
                     shortened(f.max_ulp),
                     words.index(quantile(f.ulp, 0.5)),
                     words.index(quantile(f.ulp, 0.99)),
                     shortened(f.rmse),
                     shortened(f.max_abs),
                     shortened(f.max_ratio),
                     shortened(f.bias),
                     shortened(f.bias_limit)};
  if (f.biased || f.investigate > 0) {
    list.emplace_back(f.biased ? 1 : 0);
    list.emplace_back(f.investigate);
  }
  return list;
}

/// Between what and what the mean error in ulp of the outputs (all but lse) lies: the report knows it by octaves, so to a factor of
/// two, unless it says it.
Json mean_ulp(const Record& r) {
  double low = 0, high = 0, elements = 0;
  for (const Figure& f : r.figures) {
    if (f.tensor == "lse") continue;
    const UlpOctaves octaves = ulp_octaves(f.ulp);
    const auto total = static_cast<double>(octaves.elements());
    if (total == 0) continue;
    const Between mean = f.mean_ulp ? Between{*f.mean_ulp, *f.mean_ulp} : flashproof::mean_ulp(octaves);
    elements += total;
    low += mean.lower * total;
    high += mean.upper * total;
  }
  return elements > 0 ? Json::array({shortened(low / elements), shortened(high / elements)}) : Json();
}

/// Every tensor together.
Octaves together(const Record& r, Octaves Figure::* which) {
  Octaves sum;
  for (const Figure& f : r.figures) {
    sum.zero += (f.*which).zero;
    for (const auto& [bin, n] : (f.*which).bins) sum.bins[bin] += n;
  }
  return sum;
}

/// [octave or null for 0, error/bound, ulp, octave, ...]
Json profile(const std::vector<Point>& points) {
  Json::array_t list;
  for (const Point& p : points) {
    list.push_back(p.at > 0 ? Json(std::isfinite(p.at) ? std::ilogb(p.at) : 1024) : Json());
    list.push_back(shortened(p.ratio, 2));
    list.push_back(shortened(p.ulp, 2));
  }
  return list;
}

/// A case's line is mostly problem:family:SEED:format=FORMAT: then only the seed is kept, with the number of such replacements.
Json witness(const Record& r, Words& words) {
  const Witness& w = *r.witness;
  // Replay lines are alike but for the case: a U+0000, which no text here holds, stands for it.
  std::string replay = w.replay;
  if (const std::size_t found = replay.find(w.line); !w.line.empty() && found != std::string::npos) {
    replay.replace(found, w.line.size(), 1, '\0');
  }
  const std::string front = fmt::format("{}:{}:", r.problem, r.family), back = ":format=" + r.format;
  std::string line = w.line;
  int left_out = 0;
  if (line.starts_with(front)) {
    line.erase(0, front.size());
    ++left_out;
    if (line.ends_with(back)) {
      line.resize(line.size() - back.size());
      ++left_out;
    }
  }
  const int digits = r.failed() ? 9 : 6;
  return Json::array({line, words.index(w.verdict), w.detail, words.index(w.element), w.file, words.index(replay),
                      shortened(w.computed, digits), shortened(w.exact, digits), shortened(w.error), shortened(w.ratio),
                      left_out});
}

Json heat(const Heat& h, Words& words) {
  return Json::array({words.index(h.tensor), h.rows, h.cols, h.cell_rows, h.cell_cols, h.cells});
}

/// Null where every case passed.
Json counts(const Record& r) {
  return r.by_case[kPass] == r.cases && combined(r.by_case) == kPass ? Json() : Json(r.by_case);
}

/// The records whose heat maps go into the page: hardened kernels first, while they fit.
std::set<const Record*> heats_shown(const View& view) {
  constexpr std::size_t kMost = 250'000;  // characters
  std::set<const Record*> shown;
  std::size_t size = 0;
  for (const char* form : {"hardened", "published", "broken"}) {
    for (const Record& r : view.records) {
      if (r.form != form || !r.heat || r.heat->cells.empty()) continue;
      const std::size_t more = r.heat->cells.size() * (r.heat->cells[0].size() + 3);
      if (size + more > kMost) continue;
      size += more;
      shown.insert(&r);
    }
  }
  return shown;
}

struct Field {
  const char* name;
  Json (*value)(const Record&, Words&);
};

constexpr auto kFields = std::to_array<Field>({
    {"kernel", [](const Record& r, Words& w) { return Json(w.index(r.kernel)); }},
    {"problem", [](const Record& r, Words& w) { return Json(w.index(r.problem)); }},
    {"form", [](const Record& r, Words& w) { return Json(w.index(r.form)); }},
    {"format", [](const Record& r, Words& w) { return Json(w.index(r.format)); }},
    {"executor", [](const Record& r, Words& w) { return Json(w.index(r.executor)); }},
    {"math", [](const Record& r, Words& w) { return Json(w.index(r.math)); }},
    {"family", [](const Record& r, Words& w) { return Json(w.index(r.family)); }},
    {"verdict", [](const Record& r, Words& w) { return Json(w.index(r.verdict)); }},
    {"cases", [](const Record& r, Words&) { return Json(r.cases); }},
    {"counts", [](const Record& r, Words&) { return counts(r); }},
    {"failures", [](const Record& r, Words&) { return r.failed() ? Json(r.failures) : Json(); }},
    {"ratio", [](const Record& r, Words&) { return shortened(r.ratio, 4); }},
    {"terms",
     [](const Record& r, Words&) {
       if (!r.terms) return Json();
       double sum = 0;  // the page shows shares, here in thousandths
       for (const double term : *r.terms) sum += term;
       Json::array_t list;
       for (const double term : *r.terms) list.emplace_back(sum > 0 && std::isfinite(sum) ? std::lround(1000 * term / sum) : 0);
       return Json(list);
     }},
    {"dominating", [](const Record& r, Words& w) { return Json(w.index(r.dominating)); }},
    {"figures",
     [](const Record& r, Words& w) {
       Json::array_t list;
       for (const Figure& f : r.figures) list.push_back(figure(f, w));
       return Json(list);
     }},
    {"mean", [](const Record& r, Words&) { return mean_ulp(r); }},
    {"ratios", [](const Record& r, Words&) { return octaves(together(r, &Figure::ratio)); }},
    {"ulps", [](const Record& r, Words&) { return octaves(together(r, &Figure::ulp)); }},
    {"profile",
     [](const Record& r, Words&) {
       Json::array_t list;
       for (const auto& points : r.profile) list.push_back(profile(points));
       return Json(list);
     }},
    {"witness", [](const Record& r, Words& w) { return r.witness ? witness(r, w) : Json(); }},
    {"laws",  // those that a case failed, and how many there are
     [](const Record& r, Words& w) {
       Json::array_t list{r.laws.size()};
       for (const auto& [law, c] : r.laws) {
         if (c[kFail] > 0) list.push_back(Json::array({w.index(law), c[kFail]}));
       }
       return Json(list);
     }},
    {"domain",
     [](const Record& r, Words& w) {
       const bool worth_a_line = r.domain_outside > 0 || !r.domain_nearest.empty();
       return worth_a_line ? Json::array({r.domain_rows, r.domain_outside, w.index(r.domain_nearest)}) : Json();
     }},
    {"ledger", [](const Record& r, Words&) { return r.best_known ? Json::array({shortened(r.best_known), r.beaten}) : Json(); }},
});

}  // namespace

std::string condensed(const View& view) {
  Words words;
  Json::array_t fields, rows;
  for (const Field& field : kFields) fields.emplace_back(field.name);
  fields.emplace_back("heat");
  const std::set<const Record*> with_heat = heats_shown(view);
  for (const Record& r : view.records) {
    Json::array_t& row = rows.emplace_back(Json::array()).get_ref<Json::array_t&>();
    for (const Field& field : kFields) row.push_back(field.value(r, words));
    row.push_back(with_heat.contains(&r) ? heat(*r.heat, words) : r.heat ? Json(0) : Json());
  }
  Json::array_t verdicts(kVerdicts.begin(), kVerdicts.end()), failures(kFailureNames.begin(), kFailureNames.end());
  const Json document{{"verdicts", verdicts}, {"failures", failures}, {"terms", kTerms},        {"profiles", kProfiles},
                      {"fields", fields},     {"rows", rows},         {"strings", words.list()}};
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
