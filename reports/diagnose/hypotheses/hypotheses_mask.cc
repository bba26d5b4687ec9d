// Which keys an attention kernel may have shown to a query: causality, window, lengths.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {
namespace {

/// Hides the keys j of query i for which `sees(i, j)` is false, by a bias of −inf. False where there can be no bias.
template <class Sees>
bool hide_others(AttentionProblem& p, Sees sees) {
  if (p.packed() || p.paged()) return false;
  const Tensor had = p.bias;
  p.bias = Tensor::dense(Format::f32, {p.batch(), p.q_heads(), p.q_length(), p.k_length()});
  for (std::int64_t b = 0; b < p.batch(); ++b)
    for (std::int64_t h = 0; h < p.q_heads(); ++h)
      for (std::int64_t i = 0; i < p.q_length(); ++i)
        for (std::int64_t j = 0; j < p.k_length(); ++j) {
          const double before = had.shape.empty() ? 0.0 : had.at({b, h, i, j});
          p.bias.set({b, h, i, j}, sees(i, j) ? before : -std::numeric_limits<double>::infinity());
        }
  return true;
}

bool window_side(AttentionProblem& p, std::int32_t AttentionProblem::* side, int by) {
  if (p.*side < 0 || p.*side + by < 0) return false;
  p.*side += by;
  return true;
}

/// Causality that ends one key later is a window.
bool one_more(AttentionProblem& p) {
  if (!std::exchange(p.causal, false)) return false;
  if (p.window_right < 0 || p.window_right > 1) p.window_right = 1;
  return true;
}

bool round_length(AttentionProblem& p, std::int64_t to, bool up) {
  if (p.paged()) return false;
  bool other = false;
  std::vector<std::int32_t> length(static_cast<std::size_t>(p.sequences()));
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    const std::int64_t visible = p.visible_length(s), rounded = (up ? visible + to - 1 : visible) / to * to;
    const std::int64_t cut = std::min(rounded, p.k_length(s));
    other |= cut != visible;
    length[static_cast<std::size_t>(s)] = static_cast<std::int32_t>(cut);
  }
  p.key_length = std::move(length);
  return other;
}

/// Query i sees keys j <= i, whatever the lengths: each row loses or gains Sk − Sq keys.
bool top_left(AttentionProblem& p) {
  const std::int64_t off = p.k_length() - p.q_length();
  if (!p.causal || off == 0 || p.packed() || p.paged()) return false;
  p.causal = false;
  if (off > 0) return hide_others(p, [](std::int64_t i, std::int64_t j) { return j <= i; });
  const auto more = static_cast<std::int32_t>(-off);
  p.window_right = p.window_right < 0 ? more : std::min(p.window_right, more);
  return true;
}

bool one_less(AttentionProblem& p) {
  const std::int64_t off = p.k_length() - p.q_length();
  return p.causal && hide_others(p, [off](std::int64_t i, std::int64_t j) { return j < i + off; });
}

void add_sides(std::vector<Hypothesis>& list) {
  list.push_back(of_attention("causal.ignored", "causality is ignored",
                              [](AttentionProblem& p) { return std::exchange(p.causal, false); }));
  list.push_back(of_attention("causal.top_left",
                              "the causal mask is aligned top left, the declaration says bottom right", top_left));
  list.push_back({.id = "causal.top_left",
                  .sentence = "the causal mask is aligned top left, the declaration says bottom right",
                  .row = [](const RowTerms& t, RowWeights& w) {
                    bool any = false;
                    for (std::size_t j = 0; j < t.terms.size() && t.causal; ++j) {
                      if (!t.terms[j].visible || t.terms[j].position <= t.i) continue;
                      w.drop(j);
                      any = true;
                    }
                    return any;
                  }});
  list.push_back(of_attention("causal.one_more",
                              "the causal mask ends one key late: a query sees the key after its own", one_more));
  list.push_back(of_attention("causal.one_less", "the causal mask ends one key early: a query does not see its own key",
                              one_less));
  list.push_back(of_attention("window.ignored", "the window is ignored", [](AttentionProblem& p) {
    const bool had = p.window_left >= 0 || p.window_right >= 0;
    p.window_left = p.window_right = -1;
    return had;
  }));
  list.push_back(of_attention(
      "window.left_ignored", "the left side of the window is ignored",
      [](AttentionProblem& p) { return p.window_right >= 0 && std::exchange(p.window_left, -1) >= 0; }, 2));
  list.push_back(of_attention(
      "window.right_ignored", "the right side of the window is ignored",
      [](AttentionProblem& p) { return p.window_left >= 0 && std::exchange(p.window_right, -1) >= 0; }, 2));
  list.push_back(of_attention("window.left_wider", "the window holds one key more on the left",
                              [](AttentionProblem& p) { return window_side(p, &AttentionProblem::window_left, 1); }));
  list.push_back(of_attention("window.left_narrower", "the window holds one key less on the left",
                              [](AttentionProblem& p) { return window_side(p, &AttentionProblem::window_left, -1); }));
  list.push_back(of_attention("window.right_wider", "the window holds one key more on the right",
                              [](AttentionProblem& p) { return window_side(p, &AttentionProblem::window_right, 1); }));
  list.push_back(of_attention("window.right_narrower", "the window holds one key less on the right",
                              [](AttentionProblem& p) { return window_side(p, &AttentionProblem::window_right, -1); }));
}

void add_lengths(std::vector<Hypothesis>& list) {
  list.push_back(of_attention("length.ignored", "key_length is ignored: what is stored behind the last key counts",
                              [](AttentionProblem& p) {
                                if (p.key_length.empty() || p.paged()) return false;
                                p.key_length.clear();
                                return true;
                              }));
  list.push_back(of_attention("length.one_more", "one key behind the last counts", [](AttentionProblem& p) {
    if (p.key_length.empty() || p.paged()) return false;
    bool other = false;
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      auto& length = p.key_length[static_cast<std::size_t>(s)];
      if (length < p.k_length(s)) ++length, other = true;
    }
    return other;
  }));
  for (const std::int64_t to : {8, 16, 32, 64, 128}) {
    list.push_back(of_attention(
        fmt::format("length.up_to_{}", to),
        fmt::format("key_length is rounded up to a multiple of {}: what is stored behind the last key counts", to),
        [to](AttentionProblem& p) { return round_length(p, to, true); }, 2));
  }
}

/// A masked key scores a finite number, where the maximum starts too: a row without a key is the mean of all.
Hypothesis finite_mask(double score, bool by_bias) {
  return {.id = "mask.finite_score",
          .sentence =
              "a hidden key scores a finite number, not -inf: a row that sees nothing is the mean of the hidden values",
          .complexity = by_bias ? 2 : 1,
          .row = [score, by_bias](const RowTerms& terms, RowWeights& weights) {
            if (terms.sink != kNothing || terms.terms.empty()) return false;
            for (const Term& t : terms.terms) {
              if (t.visible) return false;
            }
            bool any = false;
            for (std::size_t j = 0; j < terms.terms.size(); ++j) {
              if (by_bias && terms.terms[j].score != kNothing) continue;  // hidden by its position
              weights.numerator[j] = weights.denominator[j] = score;
              any = true;
            }
            return any;
          }};
}

}  // namespace

void add_mask_hypotheses(std::vector<Hypothesis>& list) {
  add_sides(list);
  add_lengths(list);
  for (const double score : {-3.4028234663852886e38, -1e30, -1e9, -1e4}) {
    list.push_back(finite_mask(score, false));
    list.push_back(finite_mask(score, true));
  }
}

}  // namespace flashproof
