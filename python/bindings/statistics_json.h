// Figures as JSON for the Python half.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "python/bindings/values.h"
#include "reference/error/error_stats.h"
#include "reference/error/power.h"
#include "reference/error/verdict.h"

namespace flashproof::python {

/// Cases by VerdictKind.
inline Json counts(const std::array<std::uint64_t, kVerdictKinds>& by_kind) {
  Json json = Json::object();
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind)
    json[std::string(name(static_cast<VerdictKind>(kind)))] = by_kind[kind];
  return json;
}

inline Json statistics(const ErrorStats& stats) {
  Json json{{"elements", stats.elements},       {"max_ratio", number(stats.max_ratio)},
            {"max_ulp", number(stats.max_ulp)}, {"max_abs", number(stats.max_abs)},
            {"rmse", number(stats.rmse())},     {"normwise", number(stats.normwise())},
            {"investigate", stats.investigate}};
  const ErrorWitness& worst = stats.witness;
  if (worst.ratio >= 0 || std::isnan(worst.ratio)) {
    json["worst"] = {{"seed", worst.case_index},
                     {"index", worst.index},
                     {"computed", number(worst.computed)},
                     {"exact", number(worst.exact)},
                     {"error", number(worst.error)},
                     {"ratio", number(worst.ratio)},
                     {"weights", number(worst.bound.weights)},
                     {"numerator", number(worst.bound.numerator)},
                     {"denominator", number(worst.bound.denominator)},
                     {"output", number(worst.bound.output)}};
  }
  return json;
}

/// {"o": 0.98, "lse": 0.97}: of each output that has elements the share that was decided.
inline Json decided_shares(const Power& power) {
  Json json = Json::object();
  for (std::size_t part = 0; part < kPartCount; ++part) {
    const PowerCounts& counts = power.parts[part];
    if (counts.elements() > 0) json[std::string(name(static_cast<Part>(part)))] = counts.share();
  }
  return json;
}

}  // namespace flashproof::python
