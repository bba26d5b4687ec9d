#include "fuzz/score/terms.h"

#include <algorithm>
#include <cmath>

#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

constexpr std::array<std::string_view, kTerms> kNames = {"o.weights",   "o.numerator",     "o.denominator", "o.output",
                                                         "lse.weights", "lse.denominator", "lse.output"};

/// What each term contributes to `allowed`, bound_with_rounding(): they add up to it. 0 where the part has no such term.
std::array<double, kTerms> shares(const Element& e, double allowed) {
  const ElementBound& b = e.bound;
  const double output = allowed - b.weights - b.numerator - b.denominator;
  if (e.part == Part::o) return {b.weights, b.numerator, b.denominator, output, 0, 0, 0};
  return {0, 0, 0, 0, b.weights, b.denominator, output};
}

bool of_part(std::size_t term, Part part) {
  return (part == Part::o) == (term < static_cast<std::size_t>(Term::lse_weights));
}

/// Calls use(element) for every element that speaks and did not fail.
template <class Use>
void for_each_speaking(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
                       const Contract& contract, Use use) {
  const bool failed = judgement.worst.failed();
  for (const Part part : {Part::o, Part::lse}) {
    if (!returned(contract, part)) continue;
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      const Element e = judged_element(output, truth, bound, judgement, part, i);
      if (speaks(e) && !(failed && decide(e, contract).failed())) use(e);
    }
  }
}

}  // namespace

std::string_view name(Term term) { return kNames[static_cast<std::size_t>(term)]; }

Term parse_term(std::string_view text) {
  const auto at = std::find(kNames.begin(), kNames.end(), text);
  if (at != kNames.end()) return static_cast<Term>(at - kNames.begin());
  std::string legal;
  for (const std::string_view known : kNames) legal += (legal.empty() ? "" : ", ") + std::string(known);
  throw UsageError("term " + quote(text) + ": must be one of " + legal);
}

bool speaks(const Element& e) {
  const double total = e.bound.total();
  return (e.truth.classes & kFinite) != 0 && class_of(e.computed) == kFinite && class_of(e.truth.radius) == kFinite &&
         e.domain.holds() && total > 0 && total < e.range / 2;
}

double term_ratio(const Element& e, double allowed) {
  return std::max(std::fabs(signed_error(e.computed, e.truth)) - e.truth.radius, 0.0) / allowed;
}

Term largest_term(const Element& e) {
  const auto parts = shares(e, bound_with_rounding(e.format, e.truth, e.bound));
  return static_cast<Term>(std::ranges::max_element(parts) - parts.begin());
}

TermBests term_bests(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
                     const Contract& contract) {
  TermBests best{};
  for_each_speaking(output, truth, bound, judgement, contract, [&](const Element& e) {
    const double allowed = bound_with_rounding(e.format, e.truth, e.bound), ratio = term_ratio(e, allowed);
    const auto parts = shares(e, allowed);
    for (std::size_t term = 0; term < kTerms; ++term) {
      const TermBest candidate{ratio, parts[term] / allowed, e.row, e.column, e.bits};
      if (of_part(term, e.part) && candidate.better_than(best[term])) best[term] = candidate;
    }
  });
  return best;
}

Peaks peaks(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
            const Contract& contract) {
  Peaks found{};
  for_each_speaking(output, truth, bound, judgement, contract, [&](const Element& e) {
    const double ratio = term_ratio(e, bound_with_rounding(e.format, e.truth, e.bound));
    Peak& peak = found[static_cast<std::size_t>(largest_term(e))];
    if (ratio > peak.ratio) peak = {ratio, e.part, e.row, e.column};
  });
  return found;
}

}  // namespace flashproof
