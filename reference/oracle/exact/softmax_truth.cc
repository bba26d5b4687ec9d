#include "reference/oracle/environment_guard.h"
#include "reference/oracle/oracle_parts.h"
#include "reference/oracle/symbolic.h"

namespace flashproof {

Truth exact_truth(const SoftmaxProblem& problem) {
  const std::int64_t cols = problem.x.shape[1];
  Truth truth;
  truth.rows = problem.x.shape[0];
  truth.width = cols;
  truth.o.assign(truth.rows * cols, zero_ball());
  truth.lse.reserve(truth.rows);
  RowKeys keys;
  for (std::int64_t r = 0; r < truth.rows; ++r) {
    const std::int64_t length = problem.row_length.empty() ? cols : problem.row_length[r];
    keys.clear();
    for (std::int64_t j = 0; j < length; ++j) {
      const double x = problem.x.at({r, j});
      const ScoreClass score_class = classify_score(x);
      if (score_class == ScoreClass::poison) keys.poisoned = true;
      if (score_class != ScoreClass::finite) continue;
      keys.score.push_back(exact_score(x));
      keys.key.push_back(j);
    }
    Ball* const o = truth.o.data() + r * cols;
    if (keys.poisoned) {
      for (std::int64_t j = 0; j < cols; ++j) {
        const bool hidden = j >= length || classify_score(problem.x.at({r, j})) == ScoreClass::hidden;
        o[j] = hidden ? zero_or_nan_ball() : special_ball(kNaN);
      }
      truth.lse.push_back(special_ball(kNaN));
    } else if (keys.key.empty()) {
      truth.lse.push_back(special_ball(kNegInf));
    } else {
      const RowTruth row = row_truth({.score = keys.score, .key = keys.key, .form = RowForm::weights});
      for (std::size_t j = 0; j < keys.key.size(); ++j) o[keys.key[j]] = row.o[j];
      truth.lse.push_back(row.lse);
      truth.max_bits = std::max(truth.max_bits, row.bits);
    }
  }
  return truth;
}

}  // namespace flashproof
