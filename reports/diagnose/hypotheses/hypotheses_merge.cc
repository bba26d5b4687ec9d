// What a merge of states may have made of their lse.
#include <fmt/format.h>

#include <cmath>

#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {
namespace {

/// States folded two at a time, in the order of the visits: `join` gives lse of a pair, the weights stay those of e^a and e^b.
template <class Join>
bool folded(const RowTerms& t, RowWeights& w, Join join) {
  std::vector<std::size_t> at(t.terms.size());
  for (std::size_t j = 0; j < t.terms.size(); ++j) at[static_cast<std::size_t>(t.terms[j].visit)] = j;
  if (at.size() < 2) return false;
  Real lse = kNothing;
  std::vector<Real> exponent(t.terms.size(), kNothing);  // of what stands in the running o
  for (const std::size_t j : at) {
    if (!t.terms[j].visible) continue;
    const Real b = t.terms[j].score;
    const Real sum = log_sum({lse, b});
    for (Real& x : exponent) x += lse - sum;
    exponent[j] = b - sum;
    lse = lse == kNothing ? b : join(lse, b);
  }
  const Real all = log_sum(w.denominator);
  for (std::size_t j = 0; j < exponent.size(); ++j)
    w.numerator[j] = std::isnan(exponent[j]) ? kNothing : exponent[j] + all;
  w.lse = lse;
  return true;
}

}  // namespace

void add_merge_hypotheses(std::vector<Hypothesis>& list) {
  for (const bool last : {true, false}) {
    list.push_back({.id = fmt::format("merge.{}_stored_missing", last ? "last" : "first"),
                    .sentence = fmt::format("the state that is stored {} is missing, in whatever order they are merged",
                                            last ? "last" : "first"),
                    .complexity = 2,
                    .row = [last](const RowTerms& t, RowWeights& w) {
                      if (t.terms.empty()) return false;
                      const std::size_t j = last ? t.terms.size() - 1 : 0;
                      if (!t.terms[j].visible) return false;
                      w.drop(j);
                      return true;
                    }});
  }
  list.push_back({.id = "merge.average",
                  .sentence = "o is the plain average of the states, whatever their lse",
                  .row = [](const RowTerms& t, RowWeights& w) {
                    const Real all = log_sum(w.denominator);
                    std::size_t visible = 0;
                    for (const Term& term : t.terms) visible += term.visible ? 1 : 0;
                    if (visible < 2) return false;
                    for (std::size_t j = 0; j < t.terms.size(); ++j)
                      if (t.terms[j].visible) w.numerator[j] = all - std::log(static_cast<Real>(visible));
                    return true;
                  }});
  list.push_back({.id = "merge.lse_as_weight",
                  .sentence = "weights are the lse themselves, not their exponentials",
                  .row = [](const RowTerms& t, RowWeights& w) {
                    const Real all = log_sum(w.denominator);
                    Real sum = 0;
                    for (const Term& term : t.terms)
                      if (term.visible) sum += term.score;
                    for (std::size_t j = 0; j < t.terms.size(); ++j)
                      if (t.terms[j].visible) w.numerator[j] = all + std::log(t.terms[j].score / sum);
                    return true;
                  }});
  list.push_back({.id = "merge.misprinted_lse",
                  .sentence = "lse of two states is a + ln(1 + e^(b - e^a)), not a + ln(1 + e^(b - a))",
                  .complexity = 2,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    return folded(t, w, [](Real a, Real b) { return a + std::log1p(std::exp(b - std::exp(a))); });
                  }});
  list.push_back({.id = "merge.lse_of_larger",
                  .sentence = "lse of two states is the larger of both",
                  .complexity = 2,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    return folded(t, w, [](Real a, Real b) { return a > b ? a : b; });
                  }});
  list.push_back(
      {.id = "merge.lse_summed",
       .sentence = "lse of two states is the sum of both",
       .complexity = 2,
       .row = [](const RowTerms& t, RowWeights& w) { return folded(t, w, [](Real a, Real b) { return a + b; }); }});
}

}  // namespace flashproof
