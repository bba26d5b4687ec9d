// What the JSON of forward and of backward records has in common.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reports/record.h"

namespace flashproof::json_parts {

using Json = nlohmann::ordered_json;

inline Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

inline Json text(std::string_view value) { return std::string(value); }

template <std::size_t n>
Json kinds(const std::array<std::uint64_t, n>& counts) {
  Json json;
  for (std::size_t i = 0; i < n; ++i) json[std::string(name(static_cast<VerdictKind>(i)))] = counts[i];
  return json;
}

inline Json failures(const FailureCounts& counts) {
  Json json;
  for (std::size_t i = 1; i < counts.size(); ++i) json[std::string(name(static_cast<Failure>(i)))] = counts[i];
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

inline Json extreme(const Precondition& p) {
  if (!(p.load() > 0)) return {};
  return {{"value", number(p.value)}, {"limit", number(p.limit)}, {"load", number(p.load())}};
}

inline Json domain(const DomainStats& stats) {
  Json list = Json::array();
  for (const auto& [name, s] : stats.by_name) {
    list.push_back({{"name", name},
                    {"rows_outside", s.outside},
                    {"worst_outside", extreme(s.worst)},
                    {"nearest_inside", extreme(s.nearest)}});
  }
  return {{"rows", stats.rows}, {"outside", stats.outside}, {"preconditions", list}};
}

inline Json figures(const ErrorStats& s) {
  return {{"elements", s.elements},
          {"finite_elements", s.finite_elements},
          {"classes", {{"finite", s.classes[0]}, {"inf", s.classes[1]}, {"-inf", s.classes[2]}, {"nan", s.classes[3]}}},
          {"max_abs", number(s.max_abs)},
          {"mean_abs", number(s.mean_abs())},
          {"max_ulp", number(s.max_ulp)},
          {"rmse", number(s.rmse())},
          {"normwise", number(s.normwise())},
          {"max_ratio", number(s.max_ratio)},
          {"bias", bias(s)},
          {"probable", probable(s)},
          {"ratio_octaves", octaves(s.ratio_octaves)}};
}

inline Json terms(const ElementBound& b) {
  return {{"weights", number(b.weights)},           {"numerator", number(b.numerator)},
          {"denominator", number(b.denominator)},   {"output", number(b.output)},
          {"dominating", text(dominating_term(b))}, {"share", number(dominating_share(b))},
          {"probable", number(b.probable)},         {"drift", number(b.drift)}};
}

/// What replays the worst case of a record, and its worst element.
inline Json witness(const WorstCase& worst, const std::string& case_line) {
  const ElementFinding& e = worst.element;
  return {{"case", case_line},
          {"verdict", to_string(Verdict{worst.verdict.kind, worst.verdict.failure, {}})},
          {"detail", worst.verdict.detail},
          {"tensor", e.tensor},
          {"index", e.index},
          {"computed", number(e.computed)},
          {"exact", number(e.exact)},
          {"error", number(e.error)},
          {"ratio", number(e.ratio)}};
}

inline std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace flashproof::json_parts
