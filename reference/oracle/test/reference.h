// The three problems as the textbook writes them, in any number type: an independent cross-check and documentation. It
// shares nothing with the tiers except the problem definitions, and it makes no promise about its own error.
//
// Inputs: finite numbers, and −inf where a key is to be hidden (x, lse, bias, sink). Special values beyond that are the
// business of the symbolic table, not of this file; what belongs to no visible key is never looked at.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

template <class Real>
struct ReferenceResult {
  std::vector<Real> o;    // rows x width
  std::vector<Real> lse;  // rows
};

/// Two passes: the maximum, then the sum of e^(s − maximum). Hidden keys are simply not in the list.
template <class Real>
struct ReferenceSoftmax {
  std::vector<Real> p;
  Real lse;

  explicit ReferenceSoftmax(const std::vector<Real>& scores) {
    using std::exp;
    using std::log;
    if (scores.empty()) {
      lse = Real(-std::numeric_limits<double>::infinity());
      return;
    }
    Real maximum = scores[0];
    for (const Real& s : scores) {
      if (s > maximum) maximum = s;
    }
    Real total(0);
    for (const Real& s : scores) {
      p.push_back(exp(Real(s - maximum)));
      total += p.back();
    }
    for (Real& weight : p) weight /= total;
    lse = maximum + log(total);
  }
};

template <class Real>
ReferenceResult<Real> reference(const SoftmaxProblem& problem) {
  const std::int64_t rows = problem.x.shape[0];
  const std::int64_t cols = problem.x.shape[1];
  ReferenceResult<Real> result;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<Real> scores;
    std::vector<std::int64_t> visible;
    for (std::int64_t j = 0; j < (problem.row_length.empty() ? cols : problem.row_length[r]); ++j) {
      const double x = problem.x.at({r, j});
      if (std::isinf(x)) continue;
      scores.push_back(Real(x));
      visible.push_back(j);
    }
    const ReferenceSoftmax<Real> softmax(scores);
    std::vector<Real> row(cols, Real(0));
    for (std::size_t n = 0; n < visible.size(); ++n) row[visible[n]] = softmax.p[n];
    result.o.insert(result.o.end(), row.begin(), row.end());
    result.lse.push_back(softmax.lse);
  }
  return result;
}

/// From e^(s − lse) to e^(s − lse'), where e^lse' = Σ count·e^s = e^lse · Σ count·p.
template <class Real>
void count_weights(const std::vector<double>& counts, ReferenceSoftmax<Real>& softmax) {
  using std::log;
  Real total(0);
  for (std::size_t n = 0; n < counts.size(); ++n) total += Real(counts[n]) * softmax.p[n];
  for (Real& weight : softmax.p) weight /= total;
  if (!counts.empty()) softmax.lse += log(total);
}

template <class Real>
ReferenceResult<Real> reference(const MergeProblem& problem) {
  const std::int64_t width = problem.o.shape[2];
  const bool concat = problem.form == MergeForm::concat;
  ReferenceResult<Real> result;
  for (std::int64_t r = 0; r < problem.o.shape[1]; ++r) {
    std::vector<Real> scores;
    std::vector<double> counts;  // l of un-normalised states
    std::vector<std::int64_t> visible;
    for (std::int64_t s = 0; s < problem.o.shape[0]; ++s) {
      const double lse = problem.lse.at({s, r});
      if (std::isinf(lse)) continue;
      const double count = problem.l.shape.empty() ? 1.0 : problem.l.at({s, r});
      if (count == 0.0) continue;
      scores.push_back(Real(lse));
      counts.push_back(count);
      visible.push_back(s);
    }
    ReferenceSoftmax<Real> softmax(scores);
    if (!problem.l.shape.empty()) count_weights(counts, softmax);
    std::vector<Real> row(concat ? problem.o.shape[0] * width : width, Real(0));
    for (std::size_t n = 0; n < visible.size(); ++n) {
      for (std::int64_t c = 0; c < width; ++c) {
        const Real term = softmax.p[n] * Real(problem.o.at({visible[n], r, c}));
        row[concat ? visible[n] * width + c : c] += term;
      }
    }
    result.o.insert(result.o.end(), row.begin(), row.end());
    result.lse.push_back(softmax.lse);
  }
  return result;
}

/// Attention, from the fields of the problem as its comments define them and not through its accessors: a mistake in
/// one of those shows here.
template <class Real>
class ReferenceAttention {
 public:
  explicit ReferenceAttention(const AttentionProblem& problem)
      : p_(problem),
        sequences_(p_.q_start.empty() ? p_.q.shape[0] : static_cast<std::int64_t>(p_.q_start.size()) - 1) {}

  ReferenceResult<Real> result() const {
    const std::int64_t heads = p_.q.shape[1], tokens = p_.q.shape[2], width = p_.v.shape[3];
    const std::int64_t rows = p_.q.shape[0] * heads * tokens;
    ReferenceResult<Real> result{std::vector<Real>(rows * width), std::vector<Real>(rows)};
    for (std::int64_t s = 0; s < sequences_; ++s) {
      const std::int64_t first = p_.q_start.empty() ? 0 : p_.q_start[s];  // the sequence's queries along axis 2
      const std::int64_t queries = p_.q_start.empty() ? tokens : p_.q_start[s + 1] - first;
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t i = 0; i < queries; ++i) {
          const std::int64_t b = p_.q_start.empty() ? s : 0;
          const std::int64_t row = (b * heads + h) * tokens + first + i;
          attend(s, h, i, queries, b, first + i, &result.o[row * width], result.lse[row]);
        }
      }
    }
    return result;
  }

 private:
  struct KeyIndex {  // of a key: axes 0 and 2 of k and v
    std::int64_t outer, inner;
  };

  /// Sk of the sequence, how many of its keys exist, and where key j lies.
  std::int64_t length(std::int64_t s) const {
    if (!p_.page_table.empty()) return present(s);
    return p_.k_start.empty() ? p_.k.shape[2] : p_.k_start[s + 1] - p_.k_start[s];
  }
  std::int64_t present(std::int64_t s) const {
    if (!p_.key_length.empty()) return p_.key_length[s];
    return p_.page_table.empty() ? length(s) : pages() * p_.k.shape[2];
  }
  std::int64_t pages() const { return static_cast<std::int64_t>(p_.page_table.size()) / sequences_; }
  KeyIndex place(std::int64_t s, std::int64_t j) const {
    const std::int64_t page_size = p_.k.shape[2];
    if (!p_.page_table.empty()) return {p_.page_table[s * pages() + j / page_size], j % page_size};
    return p_.k_start.empty() ? KeyIndex{s, j} : KeyIndex{0, p_.k_start[s] + j};
  }

  bool visible(std::int64_t s, std::int64_t distance, std::int64_t j) const {
    if (j >= present(s)) return false;
    if (p_.causal && distance < 0) return false;
    if (p_.window_left >= 0 && distance > p_.window_left) return false;
    return p_.window_right < 0 || -distance <= p_.window_right;
  }

  /// c·tanh(x/c) from e^(−2|x|/c), which cannot overflow. tanh of a small number loses relative, not absolute accuracy.
  Real capped(const Real& x) const {
    using std::exp;
    if (p_.softcap == 0.0F) return x;
    const Real cap(static_cast<double>(p_.softcap));
    const Real t = exp(Real(Real(x < 0 ? 2 : -2) * Real(x / cap)));
    const Real result = cap * Real(Real(Real(1) - t) / Real(Real(1) + t));
    return x < 0 ? Real(-result) : result;
  }

  /// Query i of the sequence; it lies at (b, token) along axes 0 and 2 of q.
  void attend(std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t queries, std::int64_t b, std::int64_t token,
              Real* o, Real& lse) const {
    const std::int64_t kv = h / (p_.q.shape[1] / p_.k.shape[1]);
    std::vector<Real> scores;
    std::vector<KeyIndex> places;
    for (std::int64_t j = 0; j < length(s); ++j) {
      const std::int64_t distance = i + length(s) - queries - j;
      if (!visible(s, p_.top_left ? i - j : distance, j)) continue;
      const double bias = p_.has_bias() ? p_.bias.at({b, h, i, j}) : 0.0;
      if (std::isinf(bias)) continue;
      const KeyIndex at = place(s, j);
      Real dot(0);
      for (std::int64_t c = 0; c < p_.q.shape[3]; ++c) {
        dot += Real(p_.q.at({b, h, token, c})) * Real(p_.k.at({at.outer, kv, at.inner, c}));
      }
      Real factor(static_cast<double>(p_.scale));
      if (!p_.q_descale.shape.empty()) factor *= Real(p_.q_descale.at({s, kv}));
      if (!p_.k_descale.shape.empty()) factor *= Real(p_.k_descale.at({s, kv}));
      Real score = capped(Real(factor * dot)) + Real(bias);
      if (p_.has_alibi()) {
        score -= Real(p_.alibi.at({s, h})) * Real(static_cast<double>(distance < 0 ? -distance : distance));
      }
      scores.push_back(score);
      places.push_back(at);
    }
    const bool sink = p_.has_sink() && !std::isinf(p_.sink.at({h}));
    if (sink) scores.push_back(Real(p_.sink.at({h})));  // its v is 0
    const ReferenceSoftmax<Real> softmax(scores);
    for (std::int64_t c = 0; c < p_.v.shape[3]; ++c) {
      o[c] = Real(0);
      for (std::size_t n = 0; n < places.size(); ++n) {
        o[c] += softmax.p[n] * Real(p_.v.at({places[n].outer, kv, places[n].inner, c}));
      }
      if (!p_.v_descale.shape.empty()) o[c] *= Real(p_.v_descale.at({s, kv}));
    }
    lse = softmax.lse;
  }

  const AttentionProblem& p_;
  std::int64_t sequences_;
};

template <class Real>
ReferenceResult<Real> reference(const AttentionProblem& problem) {
  return ReferenceAttention<Real>(problem).result();
}

}  // namespace flashproof
