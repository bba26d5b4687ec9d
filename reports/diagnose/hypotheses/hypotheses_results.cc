// What o and lse may mean in place of themselves, and exponentials to another base.
#include <algorithm>
#include <cmath>

#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {
namespace {

/// lse of weights to another base: of their sum, that to base 2, or the true maximum with the logarithm of the sum.
enum class Frame : std::uint8_t { sum, base_2, maximum };

void add_bases(std::vector<Hypothesis>& list) {
  for (const bool twice : {false, true}) {
    const Real base = twice ? 1 / std::log(Real{2}) : std::log(Real{2});
    for (const Frame frame : {Frame::sum, Frame::base_2, Frame::maximum}) {
      list.push_back({.id = twice ? "exponent.log2e_twice" : "exponent.log2e_missing",
                      .sentence = twice ? "scores are multiplied by log2(e) twice: weights are 2^(s log2(e)^2)"
                                        : "scores are not multiplied by log2(e): weights are 2^s, not e^s",
                      .complexity = frame == Frame::sum ? 1 : 2,
                      .row = [base, frame](const RowTerms& t, RowWeights& w) {
                        for (auto* exponents : {&w.numerator, &w.denominator})
                          for (Real& x : *exponents) x *= base;
                        if (w.extra != kNothing) w.extra *= base;
                        if (frame == Frame::base_2) w.meaning = LseMeaning::base_2;
                        Real most = t.sink;
                        for (const Term& term : t.terms)
                          if (term.visible) most = std::max(most, term.score);
                        std::vector<Real> all = w.denominator;
                        all.push_back(w.extra);
                        if (frame == Frame::maximum && most != kNothing) w.lse = most + log_sum(all) - base * most;
                        return true;
                      }});
    }
  }
}

}  // namespace

void add_result_hypotheses(std::vector<Hypothesis>& list) {
  list.push_back({.id = "lse.base_2",
                  .sentence = "lse is the logarithm to base 2, natural is declared; o is right",
                  .row = [](const RowTerms&, RowWeights& w) { return w.meaning = LseMeaning::base_2, true; }});
  list.push_back({.id = "lse.maximum",
                  .sentence = "lse is the maximum alone, without the logarithm of the sum",
                  .row = [](const RowTerms&, RowWeights& w) { return w.meaning = LseMeaning::maximum, true; }});
  list.push_back({.id = "lse.negated", .sentence = "lse has the wrong sign", .row = [](const RowTerms&, RowWeights& w) {
                    return w.meaning = LseMeaning::negative, true;
                  }});
  list.push_back({.id = "o.undivided",
                  .sentence = "o is not divided by the sum of weights",
                  .row = [](const RowTerms&, RowWeights& w) { return w.undivided = true; }});
  add_bases(list);
}

}  // namespace flashproof
