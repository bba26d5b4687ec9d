#include "fuzz/score/terms.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::array<std::string_view, kTerms> kNames = {
    "o.weights",    "o.numerator",    "o.denominator", "o.output",       "lse.weights",  "lse.denominator",
    "lse.output",   "dq.weights",     "dq.numerator",  "dq.denominator", "dq.output",    "dk.weights",
    "dk.numerator", "dk.denominator", "dk.output",     "dv.weights",     "dv.numerator", "dv.output"};

/// The terms of a part: the first, and which of the two in the middle it has.
struct PartTerms {
  Part part;
  Term first;
  bool numerator, denominator;
};
constexpr PartTerms kParts[kPartCount] = {{Part::o, Term::o_weights, true, true},
                                          {Part::lse, Term::lse_weights, false, true},
                                          {Part::dq, Term::dq_weights, true, true},
                                          {Part::dk, Term::dk_weights, true, true},
                                          {Part::dv, Term::dv_weights, true, false}};

/// Calls use(term, contribution) for each term of the element's part: they add up to `allowed`, bound_with_rounding().
template <class Use>
void for_each_term(const Element& e, double allowed, Use use) {
  const ElementBound& b = e.bound;
  const PartTerms& of = kParts[static_cast<std::size_t>(e.part)];
  auto term = static_cast<std::size_t>(of.first);
  use(term++, b.weights);
  if (of.numerator) use(term++, b.numerator);
  if (of.denominator) use(term++, b.denominator);
  use(term, allowed - b.weights - b.numerator - b.denominator);
}

/// Calls use(element) for every element that can represent a term and did not fail.
template <class Use>
void for_each_speaking(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
                       const Contract& contract, Use use) {
  const bool failed = judgement.worst.failed();
  for (const Part part : parts_of(output)) {
    if (!returned(contract, part)) continue;
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      const Element e = judged_element(output, truth, bound, judgement, part, i);
      if (can_represent(e) && !(failed && decide(e, contract).failed())) use(e);
    }
  }
}

}  // namespace

std::string_view name(Term term) { return kNames[static_cast<std::size_t>(term)]; }

Part part_of(Term term) {
  const auto after = std::ranges::upper_bound(kParts, term, {}, &PartTerms::first);
  return std::prev(after)->part;
}

Term parse_term(std::string_view text) {
  const auto at = std::find(kNames.begin(), kNames.end(), text);
  if (at != kNames.end()) return static_cast<Term>(at - kNames.begin());
  std::string legal;
  for (const std::string_view known : kNames) legal += (legal.empty() ? "" : ", ") + std::string(known);
  throw UsageError("term " + quote(text) + ": must be one of " + legal);
}

bool can_represent(const Element& e) {
  const double total = e.bound.total();
  return (e.truth.classes & kFinite) != 0 && class_of(e.computed) == kFinite && class_of(e.truth.radius) == kFinite &&
         e.domain.holds() && total > 0 && total < e.range / 2;
}

double term_ratio(const Element& e, double allowed) {
  return std::max(std::fabs(signed_error(e.computed, e.truth)) - e.truth.radius, 0.0) / allowed;
}

Term largest_term(const Element& e) {
  std::pair<std::size_t, double> largest{0, -1.0};
  for_each_term(e, bound_with_rounding(e.format, e.truth, e.bound), [&](std::size_t term, double value) {
    if (value > largest.second) largest = {term, value};
  });
  return static_cast<Term>(largest.first);
}

TermBests term_bests(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
                     const Contract& contract) {
  TermBests best{};
  for_each_speaking(output, truth, bound, judgement, contract, [&](const Element& e) {
    const double allowed = bound_with_rounding(e.format, e.truth, e.bound), ratio = term_ratio(e, allowed);
    for_each_term(e, allowed, [&](std::size_t term, double value) {
      const TermBest candidate{ratio, value / allowed, e.row, e.column, e.bits};
      if (candidate.better_than(best[term])) best[term] = candidate;
    });
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
