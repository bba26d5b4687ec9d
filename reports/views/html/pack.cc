#include "reports/views/html/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "reference/system/text.h"
#include "reports/record/json_parts.h"
#include "reports/statistics/octaves.h"
#include "reports/views/terminal/text.h"

namespace flashproof::html {
namespace {

using Octaves = std::map<int, std::uint64_t>;  // kExact first

/// "exact results,lowest octave,elements of it,of the next,..." to base 36: half of the page would be these in decimal.
std::string base36(Octaves octaves) {
  std::string list;
  const auto add = [&](auto value) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value, 36).ptr;
    if (!list.empty()) list += ',';
    list.append(digits, end);
  };
  add(octaves[kExact]);
  octaves.erase(kExact);
  if (octaves.empty()) return list;
  int next = octaves.begin()->first;
  add(next);
  for (const auto& [octave, n] : octaves) {
    for (; next < octave; ++next) add(0);
    add(n);
    ++next;
  }
  return list;
}

/// Of a record by name, as report.json has them.
std::vector<Part> tensors(const Record& r) {
  const auto all = parts(r.kernel->problem);
  std::vector<Part> list(all.begin(), all.end());
  std::ranges::sort(list, {}, [](Part part) { return name(part); });
  return list;
}

/// Zeros at the end are left out.
Json figure(Part part, const ErrorStats& s, Pool& pool) {
  const UlpOctaves ulps = octaves_of(s);
  /// The octave below which `share` of the elements lie, as text.
  const auto quantile = [&](double share) {
    return pool.words.index(ulps.elements() == 0 ? "–" : octave_text(ulps.quantile(share)));
  };
  Json::array_t list{pool.words.index(name(part)),
                     s.elements,
                     s.elements - s.finite_elements,
                     shortened(s.max_ulp),
                     quantile(0.5),
                     quantile(0.99),
                     shortened(s.rmse()),
                     shortened(s.max_abs),
                     shortened(s.max_ratio),
                     shortened(s.bias()),
                     shortened(s.bias_limit())};
  if (s.biased() || s.investigate > 0) {
    list.emplace_back(s.biased() ? 1 : 0);
    list.emplace_back(s.investigate);
  }
  return list;
}

/// [octave or null for 0, error/bound, ulp, octave, ...]
Json axis(const ProfileAxis& points) {
  Json::array_t list;
  for (const auto& [octave, point] : points) {
    list.push_back(octave == kZeroOctave ? Json() : Json(octave));
    list.push_back(shortened(point.max_ratio, 2));
    list.push_back(shortened(point.max_ulp, 2));
  }
  return list;
}

/// The precondition that came nearest to failing inside the domain, as words.
std::string nearest_words(const DomainStats& domain) {
  const auto* nearest = domain.nearest();
  if (nearest == nullptr) return "";
  const Precondition& p = nearest->second.nearest;
  return fmt::format("{:.2g} of the limit: {} ({:.3g}, limit {:.3g})", p.load(), one_line(nearest->first), p.value,
                     p.limit);
}

}  // namespace

std::size_t Shared::index(const Json& value) {
  const auto [at, added] = index_.try_emplace(value.dump(-1, ' ', false, Json::error_handler_t::replace), list_.size());
  if (added) list_.push_back(value);
  return at->second;
}

Json shortened(double value, int digits) {
  const double rounded = flashproof::rounded(value, digits);
  if (rounded == std::trunc(rounded) && std::fabs(rounded) < 1e15)
    return static_cast<std::int64_t>(rounded);  // 1, not 1.0
  return json_parts::number(std::isfinite(rounded) ? rounded : value);
}

/// Null where every case passed.
Json packed_counts(const Record& r) {
  if (r.count(VerdictKind::pass) == r.cases && r.cases > 0) return {};
  Json::array_t list;
  for (const VerdictKind kind : kShownKinds) list.emplace_back(r.count(kind));
  return list;
}

Json packed_figures(const Record& r, Pool& pool) {
  Json::array_t list;
  for (const Part part : tensors(r)) list.emplace_back(pool.figures.index(figure(part, r[part], pool)));
  return list;
}

/// The page shows shares, here in thousandths.
Json packed_terms(const Record& r) {
  if (!r.worst) return {};
  const auto terms = terms_of(*r.worst);
  const double sum = std::accumulate(terms.begin(), terms.end(), 0.0);
  Json::array_t list;
  for (const double term : terms) list.emplace_back(sum > 0 && std::isfinite(sum) ? std::lround(1000 * term / sum) : 0);
  return list;
}

/// Between what and what the mean error in ulp of the outputs (all but lse) lies: the report knows it by octaves, so to a factor of
/// two.
Json packed_mean_ulp(const Record& r) {
  const UlpOctaves octaves = octaves_of(r.values());
  if (octaves.elements() == 0) return {};
  const Between mean = mean_ulp(octaves);
  return Json::array({shortened(mean.lower), shortened(mean.upper)});
}

Json packed_ratio_octaves(const Record& r, Pool& pool) {
  Octaves sum;
  for (const Part part : tensors(r)) {
    for (const auto& [octave, n] : ratio_octaves(r[part])) sum[octave] += n;
  }
  return pool.octaves.index(base36(sum));
}

Json packed_ulp_octaves(const Record& r, Pool& pool) {
  UlpOctaves sum;
  for (const Part part : tensors(r)) sum.merge(octaves_of(r[part]));
  return pool.octaves.index(base36(sum.counts));
}

Json packed_profile(const Record& r, Pool& pool) {
  Json::array_t list;
  for (const auto which : kAxes) list.emplace_back(pool.axes.index(axis(r.profile.*which)));
  return list;
}

/// A case's line is mostly problem:family:SEED:format=FORMAT: then only the seed is kept, with the number of such replacements.
/// The name of a file that the record's key gives is 1.
Json packed_witness(const Record& r, Pool& pool) {
  if (!r.worst) return {};
  const WorstCase& w = *r.worst;
  const ElementFinding& e = w.element;
  std::string line = worst_case_line(r), replay = replay_command(r);
  // Replay lines are alike but for the case: a U+0000, which no text here holds, stands for it.
  if (const std::size_t found = replay.find(line); found != std::string::npos)
    replay.replace(found, line.size(), 1, '\0');
  const std::string_view format = info(r.format).name;
  const std::string front = fmt::format("{}:{}:", name(r.kernel->problem), r.family),
                    back = fmt::format(":format={}", format);
  int left_out = 0;
  if (line.starts_with(front)) {
    line.erase(0, front.size());
    ++left_out;
    if (line.ends_with(back)) {
      line.resize(line.size() - back.size());
      ++left_out;
    }
  }
  const bool usual = w.file == fmt::format("witnesses/{}.{}.{}.safetensors", r.kernel->id, format, r.family);
  const int digits = failed(r) ? 9 : 6;
  return Json::array({line, pool.words.index(to_string(Verdict{w.verdict.kind, w.verdict.failure, {}})),
                      one_line(w.verdict.detail),
                      pool.words.index(e.tensor.empty() ? "" : fmt::format("{}[{}]", e.tensor, e.index)),
                      usual ? Json(1) : Json(one_line(w.file)), pool.words.index(replay), shortened(e.computed, digits),
                      shortened(e.exact, digits), shortened(e.error), shortened(e.ratio), left_out});
}

/// How many there are, and those that a case failed.
Json packed_laws(const Record& r, Pool& pool) {
  Json::array_t list{r.laws.size()};
  for (const auto& [law, counts] : r.laws) {
    const std::uint64_t fails = counts[static_cast<std::size_t>(VerdictKind::fail)];
    if (fails > 0) list.push_back(Json::array({pool.words.index(one_line(law)), fails}));
  }
  return list;
}

Json packed_domain(const Record& r, Pool& pool) {
  const std::string nearest = nearest_words(r.domain);
  if (r.domain.outside == 0 && nearest.empty()) return {};
  return pool.domains.index(Json::array({r.domain.rows, r.domain.outside, pool.words.index(nearest)}));
}

Json packed_ledger(const Record& r, Pool& pool) {
  if (!r.ledger) return {};
  return pool.ledgers.index(Json::array({shortened(*r.ledger), r.beaten()}));
}

Json packed_heat(const HeatMap& h, Pool& pool) {
  return pool.heats.index(Json::array({pool.words.index(h.tensor), h.rows, h.cols, h.cell_rows, h.cell_cols, h.cells}));
}

}  // namespace flashproof::html
