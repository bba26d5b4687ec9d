#include "reference/oracle/environment_guard.h"
#include "reference/oracle/exact/exact_tier.h"
#include "reference/oracle/exact/row_truth.h"
#include "reference/oracle/rows.h"
#include "reference/oracle/symbolic.h"

namespace flashproof {
namespace {

class SoftmaxRows : public RowTier {
 public:
  explicit SoftmaxRows(const SoftmaxProblem& problem) : problem_(problem) {}

  RowBalls row(std::int64_t row, Tier /*tier*/, int bits) override {
    RowBalls balls;
    collect_keys(problem_, row, keys_);
    if (symbolic_row(problem_, row, keys_, balls)) return balls;
    score_.clear();
    for (const std::int64_t j : keys_.key) score_.push_back(exact_score(problem_.x.at({row, j})));
    const RowTruth truth = row_truth({.score = score_, .form = RowForm::weights}, bits);
    balls.o.assign(problem_.x.shape[1], zero_ball());
    for (std::size_t p = 0; p < keys_.key.size(); ++p) balls.o[keys_.key[p]] = truth.o[p];
    balls.lse = truth.lse;
    balls.tier = Tier::exact;
    balls.bits = bits;
    return balls;
  }

 private:
  const SoftmaxProblem& problem_;
  RowKeys keys_;
  std::vector<ExactScore> score_;
};

}  // namespace

std::unique_ptr<RowTier> exact_rows(const SoftmaxProblem& problem) { return std::make_unique<SoftmaxRows>(problem); }

}  // namespace flashproof
