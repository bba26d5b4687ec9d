// One row whose scores are finite: weights e^(s_j − m), their sum, and what is made of them, in intervals of one
// precision. Shared by the three problems.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/oracle/exact/exact_score.h"
#include "reference/oracle/truth.h"
#include "reference/problem/formats.h"

namespace flashproof {

/// weights: o_j = p_j.  sum: o = Σ p_j v_j.  blocks: p_j v_j side by side.  With p_j = e^(s_j − lse), lse the
/// logarithm of the sum.
enum class RowForm : std::uint8_t { weights, sum, blocks };

/// The values v_jc, read when their turn comes. Not for RowForm::weights.
struct RowValues {
  std::int64_t width = 0;
  Format format = Format::f32;  // any but f64
  /// Value c of the p-th score of the row, finite; what is not (its output is decided symbolically) reads as 0.
  std::function<void(std::size_t p, std::span<double> v)> read = nullptr;
};

/// s_j = score_j·2^unit, or that + softcap·tanh(capped_j·2^unit / softcap).
struct Row {
  std::span<const ExactScore> score;  // normalized, at least one
  double softcap = 0.0;
  std::span<const ExactScore> capped = {};  // one per score if softcap > 0
  int unit = 0;
  RowForm form = RowForm::weights;
  RowValues values = {};
  /// One per score, finite and positive: how often e^(s_j − m) counts in the sum of the weights, Σ factor_j e^(s_j − m);
  /// empty = once. What multiplies v_j is e^(s_j − m) all the same. Not for RowForm::weights.
  std::span<const double> factor = {};
  /// The last score has v = 0 and no output of its own: it enters the sum and the lse only.
  bool last_is_sink = false;
};

/// o, one element per output of the form in the order of the scores, and lse. Rigorous at any precision; what the
/// precision cannot bound gets radius +inf.
struct RowTruth {
  std::vector<Ball> o;
  Ball lse;
};
RowTruth row_truth(const Row& row, int bits);

/// What row_truth allocates beside the row and its result, in bytes, from above. width is 0 for RowForm::weights.
std::int64_t row_truth_bytes(Format format, std::int64_t keys, std::int64_t width, bool softcap, int bits);

}  // namespace flashproof
