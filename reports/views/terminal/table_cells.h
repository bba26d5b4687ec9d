// The four parts of an element's bound and the bias of an output, as a table shows them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "reference/error/part_stats.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

/// Shares of their sum in percent, "1, 2, 1, 96"; an infinite part has all of it. A dash where there is no sum.
inline std::string term_shares(const std::array<double, 4>& terms) {
  double sum = 0, infinite = 0;
  for (const double term : terms) {
    sum += term;
    infinite += std::isinf(term) ? 1 : 0;
  }
  if (!(sum > 0)) return "–";
  std::string text;
  for (const double term : terms) {
    const double share = infinite == 0 ? term / sum : std::isinf(term) ? 1 / infinite : 0;
    text += fmt::format("{}{:.0f}", text.empty() ? "" : ", ", 100 * share);
  }
  return text;
}

inline std::string term_shares(const ElementBound& b) {
  return term_shares(std::array{b.weights, b.numerator, b.denominator, b.output});
}

/// Worst error/bound of each output, "o 0.98, lse 0.40"; "–" of one where nothing was measured.
inline std::string ratios_text(const PartStats& stats, ProblemKind problem) {
  std::string text;
  for (const Part part : parts(problem)) {
    const ErrorStats& s = stats[part];
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", name(part), s.elements == 0 ? "–" : short_number(s.max_ratio));
  }
  return text;
}

/// Mean signed error in the unit of BiasShare, and what chance allows.
inline std::string bias_text(const ErrorStats& s) {
  if (s.bias_elements == 0) return "–";
  return fmt::format("{} of {}{}", short_number(s.bias()), short_number(s.bias_limit()), s.biased() ? " (biased)" : "");
}

}  // namespace flashproof
