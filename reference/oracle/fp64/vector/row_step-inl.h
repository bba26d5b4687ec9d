// One row over one chunk of keys: scores, weights, and the scalar half of its running sums. To be included from a file
// that foreach_target.h compiles once per target.

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "reference/oracle/descale.h"
#include "reference/oracle/fp64/head_chunk.h"
#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/oracle/fp64/vector/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::attention64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// |x + y − sum| exactly, for sum = x + y as computed (TwoSum).
inline double sum_rest(double x, double y, double sum) {
  const double y_part = sum - x;
  return std::fabs((x - (sum - y_part)) + (y - y_part));
}

/// What add_chunk keeps per row between the weights and the products with v.
struct RowStep {
  bool active = false;
  double value_rounding = 0;  // h_N u
  double tiny = 0, floor = 0;
};

/// star[c] = v of key j, a column of the panels.
HWY_INLINE void gather_value(const Chunk& chunk, std::int64_t j, std::int64_t padded, double* star) {
  const Tag d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t c = 0; c < padded; c += step) {
    hn::Store(hn::Load(d, chunk.v + c / kPanel * kPanel * chunk.capacity + j * kPanel + c % kPanel), d, star + c);
  }
}

/// radius[c] += factor·|value[c]|
HWY_INLINE void add_size(double factor, const double* value, std::int64_t padded, double* radius) {
  const Tag d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  for (std::int64_t c = 0; c < padded; c += step) {
    hn::Store(hn::MulAdd(f, hn::Abs(hn::Load(d, value + c)), hn::Load(d, radius + c)), d, radius + c);
  }
}

/// Moves the sums from m to the larger `m`. README.md, "Moving m".
HWY_INLINE void rescale(RowState& state, double m, std::int64_t padded, const AttentionTerms& terms) {
  const Tag d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const double change = state.m - m;
  const double rest = sum_rest(state.m, -m, change);
  state.m = m;
  if (!(change >= kExpLowest)) {  // e^change < 2^-1000: everything so far is 0 within that
    const double gone = terms.vanished * kVanished;
    for (std::int64_t c = 0; c < padded; ++c) {
      state.radius[c] = (state.radius[c] + std::fabs(state.o[c]) + state.star_radius * std::fabs(state.star[c])) * gone;
      state.o[c] = 0;
    }
    state.weight_radius = (state.weight_radius + state.sum_rounding + state.star_radius + state.sum) * gone;
    state.sum_rounding = state.sum = state.star_weight = state.star_radius = 0;
    return;
  }
  const double factor = proven_exp(change);
  const double relative = terms.rescale * (kExpError + kRoundoff + rest) * kInflation;
  const auto f = hn::Set(d, factor);
  const auto grow = hn::Set(d, factor * kInflation);
  const auto r = hn::Set(d, relative);
  for (std::int64_t c = 0; c < padded; c += step) {
    const auto o = hn::Mul(hn::Load(d, state.o + c), f);
    hn::Store(o, d, state.o + c);
    hn::Store(hn::MulAdd(hn::Abs(o), r, hn::Mul(hn::Load(d, state.radius + c), grow)), d, state.radius + c);
  }
  state.sum *= factor;
  state.weight_radius *= factor * kInflation;
  state.sum_rounding = state.sum_rounding * factor * kInflation + state.sum * relative;
  state.star_weight *= factor;
  state.star_radius *= factor * kInflation;
}

/// The keys of the chunk that the row sees, by their place in it; none where first >= last.
struct KeySpan {
  std::int64_t first, last;
};
inline KeySpan keys_in(const Chunk& chunk, const RowState& row) {
  return {std::max<std::int64_t>(row.visible.first - chunk.first, 0),
          std::min(row.visible.last - chunk.first, chunk.count)};
}

/// The scores of row r: products with q, without what is added to them.
HWY_INLINE RowScores row_scores(const AttentionProblem& problem, const AttentionTerms& terms, const Chunk& chunk,
                                const RowBlock& block, std::int64_t r, KeySpan keys, const Scratch& scratch) {
  const RowState& state = *block.rows[r];
  const std::int64_t depth = problem.head_dim();
  const std::int64_t groups = (depth + kTerms - 1) / kTerms;
  const auto h_d = static_cast<double>(std::min(depth, kTerms) - 1 + groups - 1);  // h_D
  const ScoreFactor factor = score_factor(problem, state.row.sequence, problem.kv_head(state.row.head));
  const double alpha = factor.hi;
  RowScores row = {.dot = scratch.scores + r * pitch(chunk.capacity),
                   .offset = nullptr,
                   .error = nullptr,
                   .alpha = alpha,
                   .dot_error = terms.scores * h_d * kRoundoff * std::fabs(alpha) * block.norm[r] * kInflation,
                   .quanta = block.quanta[r],
                   .k_norm = chunk.k_norm,
                   .k_quanta = chunk.k_quanta,
                   .first = keys.first,
                   .last = keys.last,
                   .keys = chunk.capacity};
  if (factor.lo != 0.0) {  // README.md, "Descale factors": an exact dot product does not make an exact score
    row.dot_error +=
        (terms.factor + terms.scores * h_d * kRoundoff) * std::fabs(factor.lo) * block.norm[r] * kInflation;
    row.quanta = std::numeric_limits<double>::max();
  }
  return row;
}

/// Bias, slopes, a list of keys and the soft cap, into the scores. False: some of that is not finite.
HWY_INLINE bool add_offsets(const AttentionProblem& problem, const AttentionTerms& terms, const Chunk& chunk,
                            RowState& state, KeySpan keys, Scratch& scratch, RowScores& row) {
  if (!row_offsets(problem, state, chunk, keys.first, keys.last, terms, scratch)) return false;
  if (state.keys != nullptr) hide_unlisted(*state.keys, chunk, keys.first, keys.last, scratch);
  if (problem.softcap > 0.0F) {
    cap_scores(row, problem.softcap, terms.certificate, terms, scratch.error);
    if (state.keys != nullptr) {
      cap_infinite_scores(*state.keys, chunk, keys.first, keys.last, problem.softcap, row.dot);
    }
    row.alpha = 1.0;
    row.dot_error = 0.0;
  }
  row.offset = scratch.offset;
  row.error = scratch.error;
  return true;
}

/// Takes the chunk's largest score into the row, which may move m, and settles what the weights are relative to.
HWY_INLINE void follow_top(const AttentionOptions& options, const Chunk& chunk, const Top& top, std::int64_t padded,
                           RowState& state, WeightInput& in) {
  const RowScores& row = in.scores;
  state.seen = true;
  if (state.anchored) {
    const std::int64_t anchor = state.anchor - chunk.first;
    in.anchored = anchor >= row.first && anchor < row.last;
    in.star = in.anchored ? anchor : top.key;
  } else {
    in.star = top.key;
    if (state.m == kMinusInfinity) {
      state.m = top.score;
    } else if (top.score - state.m > options.growth) {
      rescale(state, top.score, padded, options.terms);
    }
    if (top.score > state.top) {
      state.top = top.score;
      state.top_key = chunk.first + top.key;
      state.top_error = top_error(row, top, in.certificate, options.terms);
    }
  }
  in.m = state.m;
  in.anchor_error = state.anchored ? state.anchor_error : 0.0;
}

/// The heavier of the row's star and the chunk's stays apart, the other's radius joins the rest.
HWY_INLINE void keep_star(const Chunk& chunk, std::int64_t star, const WeightSums& sums, double value_rounding,
                          std::int64_t padded, Scratch& scratch, RowState& state) {
  if (sums.star_weight > state.star_weight) {
    add_size(state.star_radius, state.star, padded, state.radius);
    state.weight_radius += state.star_radius;
    gather_value(chunk, star, padded, state.star);
    state.star_weight = sums.star_weight;
    state.star_radius = sums.star_radius;
    add_size(value_rounding * sums.star_weight, state.star, padded, state.radius);
  } else {
    double* const value = scratch.keys;
    gather_value(chunk, star, padded, value);
    state.weight_radius += sums.star_radius;
    add_size(sums.star_radius + value_rounding * sums.star_weight, value, padded, state.radius);
  }
}

/// Scores, weights and the scalar sums of row r. False: no key of the chunk has a weight.
HWY_INLINE bool weigh_row(const AttentionProblem& problem, const AttentionOptions& options, const Chunk& chunk,
                          const RowBlock& block, std::int64_t r, Scratch& scratch, std::int64_t padded, RowStep& step) {
  const AttentionTerms& terms = options.terms;
  RowState& state = *block.rows[r];
  const KeySpan seen = keys_in(chunk, state);
  const auto [first, last] = seen;
  if (first >= last || state.special) return false;
  if (state.keys == nullptr) {
    state.special = block.special[r];
    for (std::int64_t j = first; chunk.special && j < last; ++j) state.special = state.special || chunk.flags[j] != 0;
    if (state.special) return false;
  }

  WeightInput in{};
  in.scores = row_scores(problem, terms, chunk, block, r, seen, scratch);
  in.certificate = terms.certificate;
  const bool offsets = has_offsets(problem) || problem.softcap > 0.0F || state.keys != nullptr;
  if (offsets && !add_offsets(problem, terms, chunk, state, seen, scratch, in.scores)) {
    state.special = true;
    return false;
  }
  const Top top = top_score(in.scores);
  if (top.key < 0) return false;
  follow_top(options, chunk, top, padded, state, in);

  // Roundings of the chunk's sums; keys outside [first, last) add 0, which rounds nothing. README.md, "Sums".
  const std::int64_t keys = last - first;
  const std::int64_t blocks = (last - 1) / kTerms - first / kTerms + 1;
  const auto h_n = static_cast<double>(std::min(keys, std::min(keys, kTerms) + blocks - 1));
  const auto h_l = static_cast<double>(std::min(keys - 1, blocks - 1 + 5));
  in.value_rounding = terms.values * h_n * kRoundoff * kInflation;
  float* const entries = scratch.entries + r * pitch(chunk.capacity);
  const WeightSums sums = offsets ? weigh<true>(in, terms, entries) : weigh<false>(in, terms, entries);

  state.failed = state.failed || sums.failed;
  state.score_error = std::max(state.score_error, sums.score_error);
  state.roundings = std::max(state.roundings, h_l + h_n);
  const double before = state.sum;
  state.sum += sums.total;
  state.sum_rounding +=
      terms.chunks * sum_rest(before, sums.total, state.sum) + terms.sum * h_l * kRoundoff * sums.total * kInflation;
  state.weight_radius += sums.radius;
  step.value_rounding = keys == 1 && sums.star_weight == 1 ? 0.0 : in.value_rounding;  // 1·v is exact
  step.tiny = sums.tiny;
  // What the float product may lose below the range of float, in its own units: README.md, "Float product".
  step.floor = sums.entries == 0 ? 0.0 : (sums.entries + static_cast<double>(keys)) * 0x1p-149;
  keep_star(chunk, in.star, sums, step.value_rounding, padded, scratch, state);
  return true;
}

}  // namespace flashproof::attention64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
