// From dot products to scores: bias, ALiBi slope, hidden keys, softcap, with the absolute error of each. To be included
// from a file that foreach_target.h compiles once per target.

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "reference/oracle/fp64/head_chunk.h"
#include "reference/oracle/fp64/vector/decode-inl.h"
#include "reference/oracle/fp64/vector/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::attention64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;

/// x + y = sum + rest exactly (Knuth), unless one is infinite.
template <class V>
HWY_INLINE V two_sum(V x, V y, V& rest) {
  const V sum = hn::Add(x, y);
  const V y_part = hn::Sub(sum, x);
  const V x_part = hn::Sub(sum, y_part);
  rest = hn::Add(hn::Sub(x, x_part), hn::Sub(y, y_part));
  return sum;
}

/// What one row needs to know of its keys in one chunk: those in [first, last) are visible by position.
struct RowScores {
  double* dot;           // dot products, of capped scores the scores themselves
  const double* offset;  // null: all 0
  const double* error;   // null: all 0; beside offset
  double alpha;          // multiplies dot
  double dot_error;      // times k_norm: |α| h_D u ‖q‖ ‖k‖
  double quanta;         // times k_quanta: above the certificate's limit, the dot product may be inexact
  const double* k_norm;
  const double* k_quanta;
  std::int64_t first, last;
  std::int64_t keys;  // extent of the arrays, a multiple of kTerms
};

/// Whether row_offsets() has anything to add.
inline bool has_offsets(const AttentionProblem& problem) { return problem.has_bias() || problem.counts_distances(); }

/// offset_j = bias_j − slope·distance_j and its error for the keys [first, last) of the chunk. False: a bias is NaN or
/// +inf. The distance is an integer below 2^31, so base − j is exact.
HWY_INLINE bool row_offsets(const AttentionProblem& problem, const RowState& state, const Chunk& chunk,
                            std::int64_t first, std::int64_t last, const AttentionTerms& terms, Scratch& scratch) {
  const Tag d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto& [s, h, i] = state.row;
  const std::int64_t begin = first / kTerms * kTerms;
  const std::int64_t end = round_up(last, kTerms);
  std::fill(scratch.offset + begin, scratch.offset + end, 0.0);
  std::fill(scratch.error + begin, scratch.error + end, 0.0);
  if (problem.has_bias()) {
    flashproof::HWY_NAMESPACE::decode_run<Format::f32>(problem.bias,
                                                       problem.bias.offset({s, h, i, chunk.first + first}),
                                                       problem.bias.stride[3], last - first, scratch.offset + first);
    if (state.keys == nullptr) {
      const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
      auto fine = hn::Eq(infinity, infinity);
      for (std::int64_t j = begin; j < end; j += step)
        fine = hn::And(fine, hn::Lt(hn::Load(d, scratch.offset + j), infinity));
      if (!hn::AllTrue(d, fine)) return false;
    }
  }
  if (problem.has_alibi()) {
    const auto slope = hn::Set(d, -problem.alibi.at({s, h}));
    const auto term = hn::Set(d, terms.argument);
    const auto base = hn::Set(d, static_cast<double>(i + problem.k_length(s) - problem.q_length(s) - chunk.first));
    for (std::int64_t j = begin; j < end; j += step) {
      const auto distance = hn::Abs(hn::Sub(base, hn::Iota(d, static_cast<double>(j))));
      const auto product = hn::Mul(slope, distance);
      const auto lost = hn::MulSub(slope, distance, product);
      auto rest = product;
      const auto bias = hn::Load(d, scratch.offset + j);
      const auto sum = two_sum(bias, product, rest);
      const auto error = hn::Mul(term, hn::Add(hn::Abs(lost), hn::Abs(rest)));  // NaN where the bias is −inf
      hn::Store(sum, d, scratch.offset + j);
      hn::Store(hn::IfThenElseZero(hn::Eq(error, error), error), d, scratch.error + j);
    }
  }
  return true;
}

/// Only the listed keys have a weight.
HWY_INLINE void hide_unlisted(const RowKeys& keys, const Chunk& chunk, std::int64_t first, std::int64_t last,
                              Scratch& scratch) {
  auto at = std::lower_bound(keys.key.begin(), keys.key.end(), chunk.first + first);
  for (std::int64_t j = first; j < last; ++j) {
    if (at != keys.key.end() && *at == chunk.first + j) {
      ++at;
    } else {
      scratch.offset[j] = kMinusInfinity;
    }
  }
}

/// Replaces dot products by c·tanh(α·dot / c) and adds the error to scratch.error. README.md, "Softcap".
HWY_INLINE void cap_scores(const RowScores& row, double cap, double certificate, const AttentionTerms& terms,
                           double* error) {
  const Tag d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto alpha = hn::Set(d, row.alpha);
  const auto c = hn::Set(d, cap);
  const auto one = hn::Set(d, 1.0);
  const auto zero = hn::Zero(d);
  const auto lowest = hn::Set(d, kExpLowest);
  const auto minus_two = hn::Set(d, -2.0);
  for (std::int64_t j = row.first / kTerms * kTerms; j < round_up(row.last, kTerms); j += step) {
    const auto dot = hn::Load(d, row.dot + j);
    const auto x = hn::Mul(alpha, dot);
    const auto lost = hn::Abs(hn::MulSub(alpha, dot, x));
    const auto inexact =
        hn::Gt(hn::Mul(hn::Set(d, row.quanta), hn::Load(d, row.k_quanta + j)), hn::Set(d, certificate));
    const auto dot_error = hn::IfThenElseZero(inexact, hn::Mul(hn::Set(d, row.dot_error), hn::Load(d, row.k_norm + j)));
    const auto x_error = hn::MulAdd(lost, hn::Set(d, terms.argument), dot_error);
    const auto size = hn::Abs(x);
    const auto e = flashproof::HWY_NAMESPACE::Exp(d, hn::Max(hn::Div(hn::Mul(minus_two, size), c), lowest));
    const auto y = hn::Div(hn::Mul(c, hn::Sub(one, e)), hn::Add(one, e));
    // Nearest to 0 that |x| can be: the slope of tanh beyond it is what the error of x meets.
    const auto least = hn::Max(hn::Sub(size, x_error), zero);
    const auto far = flashproof::HWY_NAMESPACE::Exp(d, hn::Max(hn::Div(hn::Mul(minus_two, least), c), lowest));
    const auto saturated = hn::Mul(hn::Mul(hn::Set(d, 2 * kInflation), c), far);
    const auto rounding = hn::Mul(hn::Set(d, terms.softcap * kRoundoff * kInflation),
                                  hn::MulAdd(hn::Set(d, 1.5), c, hn::Mul(hn::Set(d, 4.0), y)));
    hn::Store(hn::CopySign(y, x), d, row.dot + j);
    hn::Store(hn::Add(hn::Load(d, error + j), hn::Add(hn::Min(x_error, saturated), rounding)), d, error + j);
  }
}

/// Keys whose dot product is infinite: the capped score is ±c exactly (so the error it has is more than enough).
HWY_INLINE void cap_infinite_scores(const RowKeys& keys, const Chunk& chunk, std::int64_t first, std::int64_t last,
                                    double cap, double* score) {
  if (keys.infinite.empty()) return;
  for (std::int64_t j = first; j < last; ++j) {
    const auto at = std::lower_bound(keys.key.begin(), keys.key.end(), chunk.first + j);
    if (at == keys.key.end() || *at != chunk.first + j) continue;
    const int sign = keys.infinite[static_cast<std::size_t>(at - keys.key.begin())];
    if (sign == 0) continue;
    score[j] = sign * cap;
  }
}

/// The largest score α·dot + offset of the visible keys and the first key that has it; −inf if none is visible.
struct Top {
  double score;
  std::int64_t key;
};
HWY_INLINE Top top_score(const RowScores& row) {
  const Tag d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto alpha = hn::Set(d, row.alpha);
  const auto first = hn::Set(d, static_cast<double>(row.first));
  const auto last = hn::Set(d, static_cast<double>(row.last));
  auto best = hn::Set(d, kMinusInfinity);
  auto best_key = hn::Set(d, -1.0);
  for (std::int64_t j = row.first / step * step; j < row.last; j += step) {
    const auto key = hn::Iota(d, static_cast<double>(j));
    auto score = hn::Mul(alpha, hn::Load(d, row.dot + j));
    if (row.offset != nullptr) score = hn::Add(score, hn::Load(d, row.offset + j));
    const auto better = hn::And(hn::And(hn::Ge(key, first), hn::Lt(key, last)), hn::Gt(score, best));
    best = hn::IfThenElse(better, score, best);
    best_key = hn::IfThenElse(better, key, best_key);
  }
  HWY_ALIGN double scores[hn::MaxLanes(d)];
  HWY_ALIGN double keys[hn::MaxLanes(d)];
  hn::Store(best, d, scores);
  hn::Store(best_key, d, keys);
  Top top{kMinusInfinity, -1};
  for (std::int64_t l = 0; l < step; ++l) {
    const auto key = static_cast<std::int64_t>(keys[l]);
    const bool better = scores[l] > top.score || (scores[l] == top.score && key >= 0 && key < top.key);
    if (better) top = {scores[l], key};
  }
  return top;
}

/// >= |α·dot + offset − (exact score)| + |score − (α·dot + offset)| for that key.
inline double top_error(const RowScores& row, const Top& top, double certificate, const AttentionTerms& terms) {
  const double x = row.alpha * row.dot[top.key];
  const double lost = std::fma(row.alpha, row.dot[top.key], -x);
  const double offset = row.offset == nullptr ? 0.0 : row.offset[top.key];
  const double part = top.score - x;
  const double rest = (x - (top.score - part)) + (offset - part);
  const bool inexact = row.quanta * row.k_quanta[top.key] > certificate;
  return ((inexact ? row.dot_error * row.k_norm[top.key] : 0.0) + terms.argument * (std::fabs(lost) + std::fabs(rest)) +
          (row.error == nullptr ? 0.0 : row.error[top.key])) *
         kInflation;
}

}  // namespace flashproof::attention64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
