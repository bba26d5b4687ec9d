#include <cmath>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/exact/exact_tier.h"
#include "reference/oracle/exact/row_truth.h"
#include "reference/oracle/rows.h"
#include "reference/oracle/symbolic.h"

namespace flashproof {
namespace {

/// A state is a key whose score is its lse and whose value is its o; (o, −inf) is the identity whatever o holds. With l
/// its score is m, and it counts l times in the sum of the weights.
class MergeRows : public RowTier {
 public:
  explicit MergeRows(const MergeProblem& problem) : problem_(problem) {}

  RowBalls row(std::int64_t row, Tier /*tier*/, int bits) override {
    RowBalls balls;
    collect_keys(problem_, row, keys_);
    if (symbolic_row(problem_, row, keys_, balls)) return balls;
    score_.clear();
    factor_.clear();
    for (const std::int64_t s : keys_.key) {
      score_.push_back(exact_score(problem_.lse.at({s, row})));
      if (problem_.has_l()) factor_.push_back(problem_.l.at({s, row}));
    }
    const auto read = [&](std::size_t p, std::span<double> v) {
      for (std::size_t c = 0; c < v.size(); ++c) {
        const double x = problem_.o.at({keys_.key[p], row, static_cast<std::int64_t>(c)});
        v[c] = std::isfinite(x) ? x : 0.0;
      }
    };
    const bool sum = problem_.form == MergeForm::sum;
    const std::int64_t width = problem_.o.shape[2];
    RowTruth truth = row_truth({.score = score_,
                                .form = sum ? RowForm::sum : RowForm::blocks,
                                .values = {.width = width, .format = problem_.o.format, .read = read},
                                .factor = factor_},
                               bits);
    balls.lse = truth.lse;
    balls.tier = Tier::exact;
    balls.bits = bits;
    if (sum) {
      balls.o = std::move(truth.o);
    } else {
      balls.o.assign(problem_.o.shape[0] * width, zero_ball());
      for (std::size_t i = 0; i < truth.o.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        balls.o[keys_.key[at / width] * width + at % width] = truth.o[i];
      }
    }
    mark_special_values(problem_, row, keys_, balls);
    return balls;
  }

 private:
  const MergeProblem& problem_;
  RowKeys keys_;
  std::vector<ExactScore> score_;
  std::vector<double> factor_;  // l
};

}  // namespace

std::unique_ptr<RowTier> exact_rows(const MergeProblem& problem) { return std::make_unique<MergeRows>(problem); }

}  // namespace flashproof
