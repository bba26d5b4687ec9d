// Which keys, columns or states count, and how often: what goes wrong in loops over tiles, chunks and parts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/diagnose/hypotheses/hypothesis.h"

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
    list.push_back({.id = fmt::format("keys.{}_not_summed", which),
                    .sentence = fmt::format(
                        "the {} {} that counts for a row is missing in the sum of weights, and not in o", which, what),
                    .complexity = 2,
                    .row = [last](const RowTerms& t, RowWeights& w) {
                      const std::size_t j = end_of(t, last);
                      if (j == t.terms.size()) return false;
                      w.denominator[j] = kNothing;
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

}  // namespace

void add_key_hypotheses(std::vector<Hypothesis>& list, ProblemKind kind) {
  const std::string_view what = noun(kind);
  add_ends(list, what);
  add_nan(list);
  if (kind == ProblemKind::merge) return;
  add_chunks(list);
  add_lengths(list, what);
  if (kind != ProblemKind::attention) return;
  list.push_back(
      {.id = "sink.twice", .sentence = "the sink is counted twice", .row = [](const RowTerms&, RowWeights& w) {
         if (w.extra == kNothing) return false;
         w.extra += std::log(Real{2});
         return true;
       }});
}

}  // namespace flashproof
