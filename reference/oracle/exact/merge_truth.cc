#include "reference/oracle/environment_guard.h"
#include "reference/oracle/oracle_parts.h"
#include "reference/oracle/symbolic.h"

namespace flashproof {
namespace {

/// A state is a key whose score is its lse and whose value is its o; (o, −inf) is the identity whatever o holds.
RowKeys states_with_weight(const MergeProblem& problem, std::int64_t row) {
  RowKeys states;
  for (std::int64_t s = 0; s < problem.o.shape[0]; ++s) {
    const double lse = problem.lse.at({s, row});
    const ScoreClass score_class = classify_score(lse);
    if (score_class == ScoreClass::poison) states.poisoned = true;
    if (score_class != ScoreClass::finite) continue;
    states.score.push_back(exact_score(lse));
    states.key.push_back(s);
  }
  return states;
}

std::vector<double> values_of_row(const MergeProblem& problem, std::int64_t row) {
  std::vector<double> values;
  for (std::int64_t s = 0; s < problem.o.shape[0]; ++s) {
    for (std::int64_t c = 0; c < problem.o.shape[2]; ++c) values.push_back(problem.o.at({s, row, c}));
  }
  return values;
}

void poison(const MergeProblem& problem, std::int64_t row, std::span<Ball> o) {
  const std::int64_t width = problem.o.shape[2];
  for (std::size_t i = 0; i < o.size(); ++i) {
    const auto block = static_cast<std::int64_t>(i) / width;
    const bool empty_block =
        problem.form == MergeForm::concat && classify_score(problem.lse.at({block, row})) == ScoreClass::hidden;
    o[i] = empty_block ? zero_or_nan_ball() : special_ball(kNaN);
  }
}

void fill_sum(const RowTruth& result, const RowKeys& states, std::span<const double> values, std::span<Ball> o) {
  for (std::size_t c = 0; c < o.size(); ++c) {
    ValueFlags flags;
    for (const std::int64_t s : states.key) flags.add(values[s * o.size() + c]);
    o[c] = flags.classes() == kFinite ? result.o[c] : special_ball(flags.classes());
  }
}

void fill_blocks(const RowTruth& result, const RowKeys& states, std::span<const double> values, std::int64_t width,
                 std::span<Ball> o) {
  for (std::size_t j = 0; j < states.key.size(); ++j) {
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t at = states.key[j] * width + c;
      ValueFlags flags;
      flags.add(values[at]);
      o[at] = flags.classes() == kFinite ? result.o[j * width + c] : special_ball(flags.classes());
    }
  }
}

}  // namespace

Truth exact_truth(const MergeProblem& problem) {
  const std::int64_t width = problem.o.shape[2];
  const bool sum = problem.form == MergeForm::sum;
  Truth truth;
  truth.rows = problem.o.shape[1];
  truth.width = sum ? width : problem.o.shape[0] * width;
  truth.o.assign(truth.rows * truth.width, zero_ball());
  for (std::int64_t r = 0; r < truth.rows; ++r) {
    const RowKeys states = states_with_weight(problem, r);
    const std::span<Ball> o(truth.o.data() + r * truth.width, truth.width);
    if (states.poisoned) {
      poison(problem, r, o);
      truth.lse.push_back(special_ball(kNaN));
      continue;
    }
    if (states.key.empty()) {
      truth.lse.push_back(special_ball(kNegInf));
      continue;
    }
    const std::vector<double> values = values_of_row(problem, r);
    const ValueMatrix matrix(values, width);
    const RowTruth result = row_truth(
        {.score = states.score, .key = states.key, .values = &matrix, .form = sum ? RowForm::sum : RowForm::blocks});
    if (sum) {
      fill_sum(result, states, values, o);
    } else {
      fill_blocks(result, states, values, width, o);
    }
    truth.lse.push_back(result.lse);
    truth.max_bits = std::max(truth.max_bits, result.bits);
  }
  return truth;
}

}  // namespace flashproof
