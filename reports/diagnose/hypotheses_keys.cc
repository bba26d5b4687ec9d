// Which keys, columns or states count, how often, and in which frame: what goes wrong in loops over tiles, chunks and parts,
// and in what becomes of their sums.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/diagnose/hypothesis.h"

namespace flashproof {
namespace {

std::string_view noun(ProblemKind kind) {
  return kind == ProblemKind::softmax ? "column" : kind == ProblemKind::merge ? "state" : "key";
}

template <class Lost>
bool drop_where(const RowTerms& terms, RowWeights& weights, Lost lost) {
  bool any = false;
  for (std::size_t j = 0; j < terms.terms.size(); ++j) {
    if (!terms.terms[j].visible || !lost(terms.terms[j])) continue;
    weights.drop(j);
    any = true;
  }
  return any;
}

/// The visible term with the least or the largest place, in position or in the order of visits.
template <class Place>
std::size_t extreme(const RowTerms& terms, bool last, Place place) {
  std::size_t found = terms.terms.size();
  for (std::size_t j = 0; j < terms.terms.size(); ++j) {
    if (!terms.terms[j].visible) continue;
    const bool better = found == terms.terms.size() || (last ? place(terms.terms[j]) > place(terms.terms[found])
                                                             : place(terms.terms[j]) < place(terms.terms[found]));
    if (better) found = j;
  }
  return found;
}

std::size_t end_of(const RowTerms& terms, bool last) {
  const bool merge = terms.kind == ProblemKind::merge;
  return extreme(terms, last, [merge](const Term& t) { return merge ? std::int64_t{t.visit} : t.position; });
}

void add_ends(std::vector<Hypothesis>& list, std::string_view what) {
  for (const bool last : {true, false}) {
    const std::string_view which = last ? "last" : "first";
    list.push_back({.id = fmt::format("keys.{}_missing", which),
                    .sentence = fmt::format("the {} {} that counts for a row is missing", which, what),
                    .row = [last](const RowTerms& t, RowWeights& w) {
                      const std::size_t j = end_of(t, last);
                      if (j == t.terms.size()) return false;
                      w.drop(j);
                      return true;
                    }});
    list.push_back({.id = fmt::format("keys.{}_twice", which),
                    .sentence = fmt::format("the {} {} that counts for a row is counted twice", which, what),
                    .row = [last](const RowTerms& t, RowWeights& w) {
                      const std::size_t j = end_of(t, last);
                      if (j == t.terms.size()) return false;
                      w.numerator[j] += std::log(Real{2});
                      w.denominator[j] += std::log(Real{2});
                      return true;
                    }});
  }
}

void add_chunks(std::vector<Hypothesis>& list) {
  for (const bool last : {true, false}) {
    const std::string_view which = last ? "last" : "first";
    list.push_back({.id = fmt::format("chunks.{}_missing", which),
                    .sentence = fmt::format("the chunk that is visited {} is missing", which),
                    .complexity = 2,
                    .row = [last](const RowTerms& t, RowWeights& w) {
                      const std::int32_t lost = last ? t.visits - 1 : 0;
                      return drop_where(t, w, [lost](const Term& term) { return term.visit == lost; });
                    }});
    list.push_back({.id = fmt::format("parts.{}_missing", which),
                    .sentence = fmt::format("the {} of the split's parts that has keys is missing", which),
                    .complexity = 3,
                    .row = [last](const RowTerms& t, RowWeights& w) {
                      if (t.parts < 2) return false;
                      const std::size_t j = extreme(t, last, [](const Term& term) { return term.part; });
                      if (j == t.terms.size()) return false;
                      const std::int32_t lost = t.terms[j].part;
                      return drop_where(t, w, [lost](const Term& term) { return term.part == lost; });
                    }});
  }
  list.push_back({.id = "chunks.of_one_key_missing",
                  .sentence = "a chunk of a single key is skipped",
                  .complexity = 2,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    std::vector<int> keys(static_cast<std::size_t>(std::max(t.visits, 1)));
                    for (const Term& term : t.terms) ++keys[static_cast<std::size_t>(term.visit)];
                    return drop_where(
                        t, w, [&](const Term& term) { return keys[static_cast<std::size_t>(term.visit)] == 1; });
                  }});
  list.push_back({.id = "chunks.remainder_missing",
                  .sentence = "every part takes the same number of chunks, rounded down: the remainder is missing",
                  .complexity = 2,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    if (t.parts < 2) return false;
                    const std::int32_t taken = t.visits / t.parts * t.parts;
                    return drop_where(t, w, [taken](const Term& term) { return term.visit >= taken; });
                  }});
  for (std::int32_t n = 256; n <= 8192; n += n < 1024 ? 256 : 1024) {
    list.push_back({.id = "chunks.cut",
                    .sentence = fmt::format("keys of a chunk behind its first {} are dropped", n),
                    .complexity = 2,
                    .row = [n](const RowTerms& t, RowWeights& w) {
                      return drop_where(t, w, [n](const Term& term) { return term.in_chunk >= n; });
                    }});
  }
}

void add_lengths(std::vector<Hypothesis>& list, std::string_view what) {
  for (const std::int64_t n : {8, 16, 32, 64, 128, 256, 512, 1024}) {
    list.push_back({.id = fmt::format("length.down_to_{}", n),
                    .sentence = fmt::format(
                        "the number of {}s is rounded down to a multiple of {}: the last ones are missing", what, n),
                    .complexity = 2,
                    .row = [n](const RowTerms& t, RowWeights& w) {
                      const std::int64_t whole = t.length / n * n;
                      return drop_where(t, w, [whole](const Term& term) { return term.position >= whole; });
                    }});
    list.push_back(
        {.id = "tail.scored_zero",
         .sentence = fmt::format("{}s behind the last, up to a multiple of {}, count with the score 0", what, n),
         .complexity = 2,
         .row = [n](const RowTerms& t, RowWeights& w) {
           const std::int64_t more = (n - t.length % n) % n;
           if (more == 0) return false;
           w.extra = log_sum({w.extra, std::log(static_cast<Real>(more))});
           return true;
         }});
  }
}

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

void add_frames(std::vector<Hypothesis>& list) {
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

/// An infinite score makes NaN of a sum, too: its weight is e^(inf - inf).
bool makes_nan(const Term& term) { return std::isnan(term.score) || term.score == -kNothing; }

/// Leaves out whole groups of terms: `group` of a term, and whether it loses all when one of its scores, or every one, is NaN.
template <class Group>
bool leave_out_nan(const RowTerms& t, RowWeights& w, Group group, bool every) {
  std::vector<int> nan, number;
  for (const Term& term : t.terms) {
    if (!term.visible) continue;
    const auto g = static_cast<std::size_t>(group(term));
    nan.resize(std::max(nan.size(), g + 1)), number.resize(nan.size());
    ((every ? std::isnan(term.score) : makes_nan(term)) ? nan : number)[g] += 1;
  }
  return drop_where(t, w, [&](const Term& term) {
    const auto g = static_cast<std::size_t>(group(term));
    return nan[g] > 0 && (!every || number[g] == 0);
  });
}

void add_nan(std::vector<Hypothesis>& list) {
  list.push_back({.id = "nan.key_left_out",
                  .sentence = "a key whose score is NaN is left out",
                  .row = [](const RowTerms& t, RowWeights& w) {
                    return drop_where(t, w, [](const Term& term) { return makes_nan(term); });
                  }});
  list.push_back({.id = "nan.chunk_left_out",
                  .sentence = "a chunk whose every score is NaN or -inf is taken for empty and left out",
                  .complexity = 2,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    return leave_out_nan(t, w, [](const Term& term) { return term.visit; }, true);
                  }});
  list.push_back({.id = "nan.part_left_out",
                  .sentence = "a part of the split whose sum is NaN is taken for empty and left out",
                  .complexity = 2,
                  .row = [](const RowTerms& t, RowWeights& w) {
                    return t.parts > 1 && leave_out_nan(t, w, [](const Term& term) { return term.part; }, false);
                  }});
}

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

void add_results(std::vector<Hypothesis>& list) {
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

}  // namespace

void add_key_hypotheses(std::vector<Hypothesis>& list, ProblemKind kind) {
  const std::string_view what = noun(kind);
  add_ends(list, what);
  add_results(list);
  add_nan(list);
  if (kind == ProblemKind::merge) return;
  add_chunks(list);
  add_lengths(list, what);
  add_frames(list);
  if (kind != ProblemKind::attention) return;
  list.push_back(
      {.id = "sink.twice", .sentence = "the sink is counted twice", .row = [](const RowTerms&, RowWeights& w) {
         if (w.extra == kNothing) return false;
         w.extra += std::log(Real{2});
         return true;
       }});
}

}  // namespace flashproof
