// The JSON of records in parts.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "kernels/broken/fault.h"
#include "reports/record/report.h"
#include "reports/statistics/rounded.h"

namespace flashproof::json_parts {

using Json = nlohmann::ordered_json;

inline Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/// null for what was not measured, and for what is not known.
inline Json measured_or_null(double value) { return value < 0 ? Json() : number(value); }

inline Json text(std::string_view value) { return std::string(value); }

/// Counts by name, those that are 0 left out: most are.
template <std::size_t n>
Json kinds(const std::array<std::uint64_t, n>& counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < n; ++i) {
    if (counts[i] != 0) json[std::string(name(static_cast<VerdictKind>(i)))] = counts[i];
  }
  return json;
}

inline Json failures(const FailureCounts& counts) {
  Json json = Json::object();
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] != 0) json[std::string(name(static_cast<Failure>(i)))] = counts[i];
  }
  return json;
}

template <std::size_t n>
std::array<std::uint64_t, n> sum(std::array<std::uint64_t, n> a, const std::array<std::uint64_t, n>& b) {
  for (std::size_t i = 0; i < n; ++i) a[i] += b[i];
  return a;
}

/// floor(log2(error/bound)) -> elements, empty bins left out; "-56" holds everything below, too, "7" everything above.
inline Json octaves(const std::array<std::uint64_t, 64>& bins) {
  Json json = Json::object();
  for (int i = 0; i < 64; ++i) {
    if (bins[static_cast<std::size_t>(i)] != 0) json[std::to_string(i - 56)] = bins[static_cast<std::size_t>(i)];
  }
  return json;
}

/// Mean signed error in units of u sum p|v| (lse: of u max(1, |lse|)), and what chance allows.
inline Json bias(const ErrorStats& s) {
  return {{"mean", number(s.bias())},
          {"limit", number(s.bias_limit())},
          {"biased", s.biased()},
          {"elements", s.bias_elements},
          {"rows", s.bias_rows}};
}

/// Elements above their probable bound, and the largest ratio to it.
inline Json probable(const ErrorStats& s) {
  const bool measured = s.probable_witness.ratio != -1;
  return {{"investigate", s.investigate}, {"max_ratio", measured ? number(s.probable_witness.ratio) : Json()}};
}

/// What no row has is left out.
inline Json precondition(const std::string& name, const PreconditionStats& s) {
  Json json{{"name", name}};
  if (s.outside != 0) json["rows_outside"] = s.outside;
  const auto extreme = [&](const char* key, const Precondition& p) {
    if (p.load() > 0) json[key] = {{"value", number(p.value)}, {"limit", number(p.limit)}, {"load", number(p.load())}};
  };
  extreme("worst_outside", s.worst);
  extreme("nearest_inside", s.nearest);
  return json;
}

inline Json domain(const DomainStats& stats) {
  Json list = Json::array();
  for (const auto& [name, s] : stats.by_name) list.push_back(precondition(name, s));
  return {{"rows", stats.rows}, {"outside", stats.outside}, {"preconditions", list}};
}

/// floor(log2(|error| in ulp)) -> elements, empty bins left out, "zero" for exact results; the ends are open.
inline Json ulp_octaves(const ErrorStats& s) {
  Json json = Json::object();
  if (s.ulp_octaves[0] != 0) json["zero"] = s.ulp_octaves[0];
  for (std::size_t i = 1; i < s.ulp_octaves.size(); ++i) {
    if (s.ulp_octaves[i] != 0) json[std::to_string(static_cast<int>(i) + kLeastUlpOctave - 1)] = s.ulp_octaves[i];
  }
  return json;
}

/// Of the computed values, those that none is of left out.
inline Json classes(const std::array<std::uint64_t, 4>& counts) {
  constexpr const char* kNames[] = {"finite", "inf", "-inf", "nan"};
  Json json = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) json[kNames[i]] = counts[i];
  }
  return json;
}

/// Per output, what of it was decided and why the rest was not (reference/error/power.h); outputs without elements left out.
inline Json power(const Power& power) {
  Json json = Json::object();
  for (std::size_t part = 0; part < kPartCount; ++part) {
    const PowerCounts& counts = power.parts[part];
    if (counts.elements() == 0) continue;
    Json& one = json[std::string(name(static_cast<Part>(part)))] = {{"share", number(counts.share())}};
    for (std::size_t i = 0; i < kDecided; ++i) {
      if (counts.counts[i] != 0) one[std::string(name(static_cast<Decided>(i)))] = counts.counts[i];
    }
  }
  return json;
}

inline Json figures(const ErrorStats& s) {
  Json json{{"elements", s.elements},
            {"finite_elements", s.finite_elements},
            {"classes", classes(s.classes)},
            {"max_abs", number(s.max_abs)},
            {"mean_abs", number(s.mean_abs())},
            {"max_ulp", number(s.max_ulp)},
            {"rmse", number(s.rmse())},
            {"normwise", number(s.normwise())},
            {"max_ratio", number(s.max_ratio)},
            {"max_budget", measured_or_null(s.max_budget)},
            {"max_resolved_ulp", measured_or_null(s.max_resolved_ulp)},
            {"bias", bias(s)}};
  // Where the probable bound says something of an element.
  if (s.investigate > 0 || s.probable_witness.ratio != -1) json["probable"] = probable(s);
  json["ratio_octaves"] = octaves(s.ratio_octaves);
  json["ulp_octaves"] = ulp_octaves(s);
  json["state"] = s.serialize();
  return json;
}

/// [at, cases, max_ratio, max_ulp] of every octave: a report has a hundred thousand.
inline Json profile_axis(const ProfileAxis& axis) {
  Json list = Json::array();
  for (const auto& [octave, point] : axis) {
    list.push_back(Json::array({edge_of(octave), point.cases, number(point.max_ratio), number(point.max_ulp)}));
  }
  return list;
}

inline Json profile(const SizeProfile& p) {
  return {
      {"length", profile_axis(p.length)}, {"magnitude", profile_axis(p.magnitude)}, {"merges", profile_axis(p.merges)}};
}

inline Json heat(const HeatMap& map) {
  if (map.empty()) return {};
  return {{"tensor", map.tensor},       {"rows", map.rows},           {"cols", map.cols},
          {"cell_rows", map.cell_rows}, {"cell_cols", map.cell_cols}, {"cells", map.cells}};
}

inline Json terms(const ElementBound& b) {
  return {{"weights", number(b.weights)},           {"numerator", number(b.numerator)},
          {"denominator", number(b.denominator)},   {"output", number(b.output)},
          {"dominating", text(dominating_term(b))}, {"share", number(dominating_share(b))},
          {"probable", number(b.probable)},         {"drift", number(b.drift)}};
}

/// The worst case of a record, its worst element, and what replays it.
inline Json witness(const WorstCase& worst, const std::string& case_line, const std::string& replay) {
  const ElementFinding& e = worst.element;
  Json json{{"seed", worst.seed},
            {"case", case_line},
            {"verdict", to_string(Verdict{worst.verdict.kind, worst.verdict.failure, {}})},
            {"detail", worst.verdict.detail},
            {"tensor", e.tensor},
            {"index", e.index},
            {"computed", number(e.computed)},
            {"exact", number(e.exact)},
            {"error", number(e.error)},
            {"ratio", number(e.ratio)}};
  if (!worst.file.empty()) json["file"] = worst.file;
  json["replay"] = replay;
  return json;
}

inline Json intervals(const SeedSet& seeds) {
  Json list = Json::array();
  for (const auto& [first, last] : seeds.intervals()) list.push_back({first, last});
  return list;
}

/// By verdict or failure, what no case has and those that pass left out.
inline Json seeds_by_class(const Record& r) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kVerdictKinds; ++i) {
    if (!r.seeds_by_kind[i].empty()) {
      json[std::string(name(static_cast<VerdictKind>(i)))] = intervals(r.seeds_by_kind[i]);
    }
  }
  for (std::size_t i = 1; i < kFailures; ++i) {
    if (!r.seeds_by_failure[i].empty()) {
      json[std::string(name(static_cast<Failure>(i)))] = intervals(r.seeds_by_failure[i]);
    }
  }
  return json;
}

/// The fields that come first.
inline Json head(const Record& r, std::string_view problem) {
  return {{"kernel", text(r.kernel->id)},
          {"problem", text(problem)},
          {"form", text(name(r.kernel->form))},
          {"format", text(info(r.format).name)},
          {"executor", text(name(r.executor))},
          {"math", text(name(r.kernel->math))},
          {"family", r.family},
          {"defect", r.kernel->fault == nullptr ? Json() : text(defect_of(r.kernel->fault))},
          {"seeds", intervals(r.seeds)},
          {"seeds_by_class", seeds_by_class(r)},
          {"cases", r.cases},
          {"verdict", text(name(r.verdict()))}};
}

/// And those that come last.
inline void add_tail(Json& json, const Record& r) {
  json["power"] = power(r.power);
  json["laws"] = Json::object();
  for (const auto& [law, counts] : r.laws) json["laws"][law] = kinds(counts);
  json["witness"] = r.worst ? witness(*r.worst, worst_case_line(r), replay_command(r)) : Json();
  json["profile"] = profile(r.profile);
  json["heat"] = r.worst && r.verdict() == VerdictKind::fail ? heat(r.worst->heat) : Json();
  json["ledger"] = r.ledger ? Json{{"ratio", number(*r.ledger)}, {"beaten", r.beaten()}} : Json();
}

inline std::string dump_line(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }
inline std::string dump(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"; }

}  // namespace flashproof::json_parts
