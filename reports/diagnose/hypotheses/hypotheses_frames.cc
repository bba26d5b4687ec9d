// Sums whose terms stand in different frames: what goes wrong where the maximum rises.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {
namespace {

/// The largest score seen up to the end of each visit; kNothing before the first.
std::vector<Real> running_maximum(const RowTerms& t) {
  std::vector<Real> most(static_cast<std::size_t>(std::max(t.visits, 1)), kNothing);
  for (const Term& term : t.terms) {
    if (term.visible)
      most[static_cast<std::size_t>(term.visit)] = std::max(most[static_cast<std::size_t>(term.visit)], term.score);
  }
  most[0] = std::max(most[0], t.sink);
  for (std::size_t v = 1; v < most.size(); ++v) most[v] = std::max(most[v], most[v - 1]);
  return most;
}

/// Weights of a sum that is not rescaled at some visits, read in the last frame. `skips(visit)`: this one's rise is not made up for.
template <class Skips>
bool in_old_frames(const RowTerms& t, std::vector<Real>& exponents, Real& extra, Skips skips) {
  if (t.visits < 2 || t.parts > 1) return false;
  const std::vector<Real> most = running_maximum(t);
  std::vector<Real> missed(most.size() + 1);  // of what was added at this visit: the rises since that it did not follow
  for (std::size_t v = most.size() - 1; v-- > 0;) {
    const bool rises = most[v] != kNothing && most[v + 1] > most[v];
    missed[v] = missed[v + 1] + (rises && skips(v + 1) ? most[v + 1] - most[v] : Real{0});
  }
  bool other = false;
  for (std::size_t j = 0; j < t.terms.size(); ++j) {
    const Real rise = missed[static_cast<std::size_t>(t.terms[j].visit)];
    if (!t.terms[j].visible || rise == 0) continue;
    exponents[j] += rise;
    other = true;
  }
  const Real before = missed[0] + (t.sink != kNothing && skips(0) ? most[0] - t.sink : Real{0});
  if (extra != kNothing && before != 0) extra += before, other = true;
  return other;
}

/// P is kept in a frame that does not follow rises of up to so many octaves, and saturates at 448 / 2^8; the sum has all of it.
bool saturated(const RowTerms& t, RowWeights& w, Real octaves) {
  if (t.stored != Format::e4m3fn || t.parts > 1) return false;
  const std::vector<Real> most = running_maximum(t);
  std::vector<Real> frame = most;
  for (std::size_t v = 1; v < frame.size(); ++v) {
    const bool small = frame[v - 1] != kNothing && (most[v] - frame[v - 1]) / std::log(Real{2}) <= octaves;
    if (small) frame[v] = frame[v - 1];
  }
  bool other = false;
  for (std::size_t j = 0; j < t.terms.size(); ++j) {
    if (!t.terms[j].visible) continue;
    const Real top = frame[static_cast<std::size_t>(t.terms[j].visit)] + std::log(Real{448} / 256);
    if (w.numerator[j] > top) w.numerator[j] = top, other = true;
  }
  return other;
}

}  // namespace

void add_frame_hypotheses(std::vector<Hypothesis>& list) {
  static constexpr auto kEvery = [](std::size_t) { return true; };
  list.push_back(
      {.id = "frame.sum_not_rescaled",
       .sentence = "the sum of weights is not rescaled when the maximum rises",
       .complexity = 2,
       .row = [](const RowTerms& t, RowWeights& w) { return in_old_frames(t, w.denominator, w.extra, kEvery); }});
  for (const bool backwards : {false, true}) {
    for (const std::int64_t column : {0, 64, 128, 256}) {
      const std::string where = fmt::format("{}{}", column > 0 ? fmt::format(", from column {} on", column) : "",
                                            backwards ? ", where a chunk lies before the one visited before it" : "");
      list.push_back({.id = "frame.accumulator_not_rescaled",
                      .sentence = "the accumulator is not rescaled when the maximum rises" + where,
                      .complexity = 2 + (column > 0 ? 1 : 0) + (backwards ? 1 : 0),
                      .row = [backwards, column](const RowTerms& t, RowWeights& w) {
                        Real unused = kNothing;
                        w.from_column = column;
                        return column < t.width && in_old_frames(
                                                       t, w.numerator, unused,
                                                       [&](std::size_t v) {
                                                         return !backwards || (v > 0 && t.begins[v] < t.begins[v - 1]);
                                                       });
                      }});
    }
  }
  list.push_back({.id = "frame.nothing_rescaled",
                  .sentence = "neither the sum nor the accumulator is rescaled when the maximum rises",
                  .complexity = 2,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    Real unused = kNothing;
                    const bool other = in_old_frames(t, w.denominator, w.extra, kEvery);
                    return in_old_frames(t, w.numerator, unused, kEvery) && other;
                  }});
  for (const double octaves : {0.875, 1.0, 1.5, 2.0, 4.0, 8.0}) {
    list.push_back(
        {.id = "frame.rises_kept",
         .sentence = fmt::format("the frame stays where the maximum rises by up to {} octaves: P saturates, the sum "
                                 "has all of it",
                                 octaves),
         .complexity = 3,
         .row = [octaves](const RowTerms& t, RowWeights& w) { return saturated(t, w, octaves); }});
  }
}

}  // namespace flashproof
