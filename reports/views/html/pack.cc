#include "reports/views/html/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "reports/views/terminal/text.h"

namespace flashproof::html {
namespace {

Json exactly(std::optional<double> value) {
  if (!value) return {};
  if (std::isnan(*value)) return "nan";
  if (std::isinf(*value)) return *value > 0 ? "inf" : "-inf";
  return *value;
}

/// "exact results,lowest octave,elements of it,of the next,..." to base 36: half of the page would be these in decimal.
std::string base36(const Octaves& o) {
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
Json figure(const Figure& f, Pool& pool) {
  Json::array_t list{pool.words.index(f.tensor),
                     f.elements,
                     f.elements - std::min(f.finite, f.elements),
                     shortened(f.max_ulp),
                     pool.words.index(quantile(f.ulp, 0.5)),
                     pool.words.index(quantile(f.ulp, 0.99)),
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

/// [octave or null for 0, error/bound, ulp, octave, ...]
Json axis(const std::vector<Point>& points) {
  Json::array_t list;
  for (const Point& p : points) {
    list.push_back(p.at > 0 ? Json(std::isfinite(p.at) ? std::ilogb(p.at) : 1024) : Json());
    list.push_back(shortened(p.ratio, 2));
    list.push_back(shortened(p.ulp, 2));
  }
  return list;
}

}  // namespace

std::size_t Shared::index(const Json& value) {
  const auto [at, added] = index_.try_emplace(value.dump(-1, ' ', false, Json::error_handler_t::replace), list_.size());
  if (added) list_.push_back(value);
  return at->second;
}

Json shortened(std::optional<double> value, int digits) {
  if (!value || !std::isfinite(*value)) return exactly(value);
  const double rounded = std::strtod(fmt::format("{:.{}g}", *value, digits).c_str(), nullptr);
  if (rounded == std::trunc(rounded) && std::fabs(rounded) < 1e15)
    return static_cast<std::int64_t>(rounded);  // 1, not 1.0
  return std::isfinite(rounded) ? Json(rounded) : exactly(value);
}

/// Null where every case passed.
Json packed_counts(const Record& r) {
  return r.by_case[kPass] == r.cases && combined(r.by_case) == kPass ? Json() : Json(r.by_case);
}

Json packed_figures(const Record& r, Pool& pool) {
  Json::array_t list;
  for (const Figure& f : r.figures) list.emplace_back(pool.figures.index(figure(f, pool)));
  return list;
}

/// The page shows shares, here in thousandths.
Json packed_terms(const Record& r) {
  if (!r.terms) return {};
  double sum = 0;
  for (const double term : *r.terms) sum += term;
  Json::array_t list;
  for (const double term : *r.terms)
    list.emplace_back(sum > 0 && std::isfinite(sum) ? std::lround(1000 * term / sum) : 0);
  return list;
}

/// Between what and what the mean error in ulp of the outputs (all but lse) lies: the report knows it by octaves, so to a factor of
/// two, unless it says it.
Json packed_mean_ulp(const Record& r) {
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

Json packed_octaves(const Record& r, Octaves Figure::* which, Pool& pool) {
  Octaves sum;
  for (const Figure& f : r.figures) {
    sum.zero += (f.*which).zero;
    for (const auto& [bin, n] : (f.*which).bins) sum.bins[bin] += n;
  }
  return pool.octaves.index(base36(sum));
}

Json packed_profile(const Record& r, Pool& pool) {
  Json::array_t list;
  for (const auto& points : r.profile) list.emplace_back(pool.axes.index(axis(points)));
  return list;
}

/// A case's line is mostly problem:family:SEED:format=FORMAT: then only the seed is kept, with the number of such replacements.
/// The name of a file that the record's key gives is 1.
Json packed_witness(const Record& r, Pool& pool) {
  if (!r.witness) return {};
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
  const bool usual = w.file == fmt::format("witnesses/{}.{}.{}.safetensors", r.kernel, r.format, r.family);
  const int digits = r.failed() ? 9 : 6;
  return Json::array({line, pool.words.index(w.verdict), w.detail, pool.words.index(w.element),
                      usual ? Json(1) : Json(w.file), pool.words.index(replay), shortened(w.computed, digits),
                      shortened(w.exact, digits), shortened(w.error), shortened(w.ratio), left_out});
}

/// How many there are, and those that a case failed.
Json packed_laws(const Record& r, Pool& pool) {
  Json::array_t list{r.laws.size()};
  for (const auto& [law, c] : r.laws) {
    if (c[kFail] > 0) list.push_back(Json::array({pool.words.index(law), c[kFail]}));
  }
  return list;
}

Json packed_domain(const Record& r, Pool& pool) {
  if (r.domain_outside == 0 && r.domain_nearest.empty()) return {};
  return pool.domains.index(Json::array({r.domain_rows, r.domain_outside, pool.words.index(r.domain_nearest)}));
}

Json packed_ledger(const Record& r, Pool& pool) {
  if (!r.best_known) return {};
  return pool.ledgers.index(Json::array({shortened(r.best_known), r.beaten}));
}

Json packed_heat(const Heat& h, Pool& pool) {
  return pool.heats.index(Json::array({pool.words.index(h.tensor), h.rows, h.cols, h.cell_rows, h.cell_cols, h.cells}));
}

}  // namespace flashproof::html
