// Declarations that are less than the kernel's own: where one of them explains what its own does not, the kernel computes less
// well than it says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/diagnose/hypotheses/hypothesis.h"
#include "reports/diagnose/hypotheses/set.h"

namespace flashproof {
namespace {

bool coarser(Format format, Format than) { return unit_roundoff(format) > unit_roundoff(than); }

Hypothesis of(std::string id, std::string sentence, std::function<bool(const Problem&, Arithmetic&)> apply,
              int complexity, bool by_weight = false) {
  return {.id = std::move(id),
          .sentence = std::move(sentence),
          .complexity = complexity,
          .widens = true,
          .by_weight = by_weight,
          .arithmetic = std::move(apply)};
}

void add_formats(std::vector<Hypothesis>& list, ProblemKind kind) {
  for (const Format format : {Format::f16, Format::bf16, Format::e4m3fn}) {
    const std::string_view name = info(format).name;
    // The sum may add them before they are rounded, or after.
    for (const bool summed : {true, false}) {
      if (kind != ProblemKind::attention) continue;
      list.push_back(of(
          fmt::format("arithmetic.p_{}", name), fmt::format("P is rounded to {}: declare it or mend it", name),
          [format, summed](const Problem&, Arithmetic& a) {
            a.weights.summed = summed;
            return coarser(format, a.weights.format) && set(a.weights.format, format);
          },
          summed ? 11 : 12, true));
    }
    if (format == Format::e4m3fn || kind == ProblemKind::softmax) continue;
    list.push_back(of(
        fmt::format("arithmetic.lse_{}", name),
        fmt::format("lse is held in {} between the steps: declare it or mend it", name),
        [format](const Problem&, Arithmetic& a) {
          return (coarser(format, a.lse_format) && set(a.lse_format, format)) |
                 (a.split.parts > 1 && coarser(format, a.split.partial_lse) && set(a.split.partial_lse, format));
        },
        12));
  }
}

void add_exponential(std::vector<Hypothesis>& list) {
  for (const int bits : {20, 17, 14, 11}) {
    list.push_back(of(
        "arithmetic.exp_error",
        fmt::format("an exponential with a relative error up to 2^-{} explains it: declare exp_error or mend it", bits),
        [bits](const Problem&, Arithmetic& a) {
          const double error = 1.0 / static_cast<double>(1 << bits);
          return a.exp_error < error && set(a.exp_error, error);
        },
        30 - bits, true));
  }
}

/// q·k rounded before the scale; beyond the largest number of f16 it is infinite.
void add_rounded_scores(std::vector<Hypothesis>& list) {
  for (const Format format : {Format::f16, Format::bf16}) {
    const double most = format == Format::f16 ? 65504 : 3.3895e38, u = unit_roundoff(format);
    list.push_back(
        {.id = fmt::format("arithmetic.score_{}", info(format).name),
         .sentence = fmt::format("q.k is rounded to {} before it is scaled: declare it or mend it", info(format).name),
         .complexity = 10,
         .widens = true,
         .by_weight = true,
         .row = [most, u](const RowTerms& t, RowWeights& w) {
           for (std::size_t j = 0; j < t.terms.size(); ++j) {
             const Term& term = t.terms[j];
             const Real factor = term.raw == 0 ? 0 : std::fabs(term.score / term.raw);
             const Real error = std::expm1(u * std::fabs(term.raw) * factor) + 0x1p-24;
             const bool beyond = std::fabs(term.raw) > most;
             if (term.visible && !beyond && error > 0.25L) return false;  // nothing would be decided
             w.weight_error.push_back(beyond ? 0 : error);
             if (!term.visible || !beyond) continue;
             const bool up = term.score > 0;
             w.numerator[j] = w.denominator[j] = up ? -kNothing : kNothing;
           }
           return true;
         }});
  }
}

/// P cut off to 16 bits, not rounded: between 0 and 2 u too small, where rounding is u either way.
void add_truncated(std::vector<Hypothesis>& list) {
  list.push_back({.id = "arithmetic.p_truncated",
                  .sentence = "P is cut off to 16 bits, not rounded: its errors have one sign",
                  .complexity = 9,
                  .widens = true,
                  .by_weight = true,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    if (t.stored == Format::f32) return false;
                    const Real less = std::log1p(-static_cast<Real>(unit_roundoff(t.stored)));
                    for (Real& x : w.numerator) x += less;
                    if (t.summed)
                      for (Real& x : w.denominator) x += less;
                    return true;
                  }});
}

/// o of a merge in 16 bits between the states: u of what is there, at every state after the first.
void add_rounded_output(std::vector<Hypothesis>& list) {
  for (const Format format : {Format::f16, Format::bf16}) {
    list.push_back(
        {.id = "arithmetic.o_per_hop",
         .sentence = fmt::format("o is rounded to {} after every state: declare it or mend it", info(format).name),
         .complexity = format == Format::f16 ? 7 : 8,
         .widens = true,
         .row = [format](const RowTerms& t, RowWeights& w) {
           if (t.visits < 3) return false;
           w.value_error = static_cast<Real>(t.visits - 1) * unit_roundoff(format);
           return true;
         }});
  }
}

/// The sum of weights in 16 bits: one rounding per addition of a lane, of all that the lane has. A lane that has the weight 1
/// alone is exact. n roundings of at most u each come to n u at worst, so wide for a long row that it would explain anything. Taken as
/// independent, spread evenly and of partial sums that grow from 0 they have a standard deviation of about u sqrt(n) / 4 (a simulation of
/// 64 to 1,000 terms: 0.24 to 0.30); u sqrt(n) is four of them, and is doubled like every hypothesis's bound. From some 1,000 terms on
/// a sum loses the small ones whole, which is no chance: u n / 20 of 3,000 normal scores, hence u n / 16.
void add_sum(std::vector<Hypothesis>& list) {
  for (const Format format : {Format::f16, Format::bf16}) {
    list.push_back({.id = "arithmetic.sum_16_bits",
                    .sentence = fmt::format("a sum of weights in {} explains it: declare accumulation={} or mend it",
                                            info(format).name, info(format).name),
                    .complexity = 10,
                    .widens = true,
                    .row = [format](const RowTerms& t, RowWeights& w) {
                      std::int64_t terms = 0;
                      Real most = kNothing;
                      for (const Term& term : t.terms) {
                        terms += term.visible ? 1 : 0;
                        if (term.visible) most = std::max(most, term.score);
                      }
                      const std::int64_t each = (terms + t.lanes - 1) / t.lanes;
                      const auto n = static_cast<Real>(each);
                      const Real roundings = std::max(std::sqrt(n), n / 16);
                      const Real error = roundings * unit_roundoff(format);
                      for (const Term& term : t.terms)
                        w.sum_error.push_back(each == 1 && term.score == most ? 0 : error);
                      return each > 0 && error < 0.25L;
                    }});
  }
}

}  // namespace

void add_arithmetic_hypotheses(std::vector<Hypothesis>& list, ProblemKind kind) {
  add_formats(list, kind);
  add_exponential(list);
  if (kind == ProblemKind::attention) {
    list.push_back(of(
        "arithmetic.p_scale", "P is rounded without the factor that lifts small weights: they are lost",
        [](const Problem&, Arithmetic& a) { return a.weights.scale > 1 && set(a.weights.scale, 1.0); }, 10));
  }
  if (kind == ProblemKind::attention) add_rounded_scores(list);
  if (kind == ProblemKind::attention) add_truncated(list);
  if (kind == ProblemKind::merge) add_rounded_output(list);
  add_sum(list);
  list.push_back(of(
      "arithmetic.flush", "subnormal numbers are flushed to 0: declare it or mend it",
      [](const Problem&, Arithmetic& a) { return set(a.underflow, Underflow::flush); }, 10));
  list.back().one_signed = true;
}

}  // namespace flashproof
