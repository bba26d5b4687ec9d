#include "reference/oracle/double_double/double_double_tier.h"

#include <algorithm>

#include "reference/oracle/double_double/attention_rows.h"
#include "reference/oracle/double_double/decoded_head.h"
#include "reference/oracle/double_double/weighted_row.h"
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/rows.h"

namespace flashproof {
namespace {

constexpr std::int64_t kDouble = sizeof(double);

/// Scores that are inputs, hence exact, by position in keys.key.
template <class Score>
void list_scores(const RowKeys& keys, RowNumbers& numbers, Score score) {
  numbers.reset(round_up_to_block(static_cast<std::int64_t>(keys.key.size())));
  for (std::size_t p = 0; p < keys.key.size(); ++p) numbers.hi[p] = score(keys.key[p]);
}

class SoftmaxRows final : public RowTier {
 public:
  SoftmaxRows(const SoftmaxProblem& problem, const DdOptions& options) : problem_(problem), terms_(options.terms) {}

  RowBalls row(std::int64_t row, Tier tier, int /*bits*/) override {
    collect_keys(problem_, row, keys_);
    RowBalls balls;
    if (symbolic_row(problem_, row, keys_, balls)) return balls;
    list_scores(keys_, numbers_, [&](std::int64_t j) { return problem_.x.at({row, j}); });
    const WeightSum sum = weigh(numbers_, -1.0, terms_);
    balls.o.resize(problem_.x.shape[1]);  // hidden columns are exactly 0
    for (std::size_t p = 0; p < keys_.key.size(); ++p) {
      balls.o[keys_.key[p]] = share_ball(numbers_, static_cast<std::int64_t>(p), 1.0, sum, terms_);
    }
    balls.lse = lse_ball(sum, terms_);
    balls.tier = tier;
    return balls;
  }

 private:
  const SoftmaxProblem& problem_;
  DdTerms terms_;
  RowKeys keys_;
  RowNumbers numbers_;
};

class MergeRows final : public RowTier {
 public:
  MergeRows(const MergeProblem& problem, const DdOptions& options) : problem_(problem), terms_(options.terms) {}

  RowBalls row(std::int64_t row, Tier tier, int /*bits*/) override {
    collect_keys(problem_, row, keys_);
    RowBalls balls;
    if (symbolic_row(problem_, row, keys_, balls)) return balls;
    list_scores(keys_, numbers_, [&](std::int64_t s) { return problem_.lse.at({s, row}); });
    list_factors(row);
    const WeightSum sum = problem_.has_l() ? weigh(numbers_, factor_, terms_) : weigh(numbers_, -1.0, terms_);
    if (problem_.form == MergeForm::sum) {
      fill_sum(row, sum, balls);
    } else {
      fill_blocks(row, sum, balls);
    }
    balls.lse = lse_ball(sum, terms_);
    balls.tier = tier;
    mark_special_values(problem_, row, keys_, balls);
    return balls;
  }

 private:
  /// How often each state counts in the sum of the weights.
  void list_factors(std::int64_t row) {
    factor_.assign(numbers_.size(), 1.0);
    for (std::size_t p = 0; problem_.has_l() && p < keys_.key.size(); ++p) {
      factor_[p] = problem_.l.at({keys_.key[p], row});
    }
  }

  /// o of one state, NaN and ±inf as 0.
  void decode_state(std::int64_t state, std::int64_t row) {
    values_.assign(round_up_to_block(problem_.o.shape[2]), 0.0);
    decode_vector(problem_.o, problem_.o.offset({state, row, 0}), problem_.o.shape[2], values_.data());
  }

  void fill_sum(std::int64_t row, const WeightSum& sum, RowBalls& balls) {
    const std::int64_t width = problem_.o.shape[2];
    sums_.reset(round_up_to_block(width));
    balls.o.resize(width);
    // One state at a time: its vector is the layout of the kernel for a single key.
    for (std::size_t p = 0; p < keys_.key.size(); ++p) {
      decode_state(keys_.key[p], row);
      add_values_dd(numbers_, static_cast<std::int64_t>(p), 1, values_.data(), 1, sums_);
    }
    decode_state(keys_.key[sum.top], row);
    column_balls(sums_, sum, terms_, [&](std::size_t c) { return values_[c]; }, balls.o);
  }

  void fill_blocks(std::int64_t row, const WeightSum& sum, RowBalls& balls) {
    const std::int64_t width = problem_.o.shape[2];
    balls.o.resize(problem_.o.shape[0] * width);  // the blocks of hidden states are exactly 0
    for (std::size_t p = 0; p < keys_.key.size(); ++p) {
      const Ball share = share_ball(numbers_, static_cast<std::int64_t>(p), factor_[p], sum, terms_);
      decode_state(keys_.key[p], row);
      for (std::int64_t c = 0; c < width; ++c) {
        balls.o[keys_.key[p] * width + c] = scaled_ball(share, values_[c], sum, terms_);
      }
    }
  }

  const MergeProblem& problem_;
  DdTerms terms_;
  RowKeys keys_;
  RowNumbers numbers_;
  ColumnSums sums_;
  AlignedDoubles values_, factor_;
};

struct MakeTier {
  const DdOptions& options;
  std::unique_ptr<RowTier> operator()(const SoftmaxProblem& p) const {
    return std::make_unique<SoftmaxRows>(p, options);
  }
  std::unique_ptr<RowTier> operator()(const MergeProblem& p) const { return std::make_unique<MergeRows>(p, options); }
  std::unique_ptr<RowTier> operator()(const AttentionProblem& p) const { return dd_attention(p, options); }
};

/// Four of RowNumbers, and the list of keys, which grows by doubling.
constexpr std::int64_t kPerScore = 4 * kDouble + 3 * static_cast<std::int64_t>(sizeof(std::int64_t));
constexpr std::int64_t kBallBytes = sizeof(Ball);

struct TierBytes {
  std::int64_t operator()(const SoftmaxProblem& p) const { return (p.x.shape[1] + kBlock) * (kPerScore + kBallBytes); }
  std::int64_t operator()(const MergeProblem& p) const {
    const std::int64_t blocks = p.form == MergeForm::concat ? p.o.shape[0] : 1;
    return (p.o.shape[0] + kBlock) * (kPerScore + kDouble) +
           round_up_to_block(p.o.shape[2]) * (5 * kDouble + blocks * kBallBytes);
  }
  std::int64_t operator()(const AttentionProblem& p) const { return dd_attention_bytes(p, DdOptions{}); }
};

}  // namespace

bool has_double_double_tier(const Problem& problem) {
  const auto* const attention = std::get_if<AttentionProblem>(&problem);
  return has_dd_kernels() && (attention == nullptr || attention->softcap == 0.0F);
}

std::unique_ptr<RowTier> double_double_tier(const Problem& problem) { return double_double_tier(problem, DdOptions{}); }

std::unique_ptr<RowTier> double_double_tier(const Problem& problem, const DdOptions& options) {
  return visit_forward(MakeTier{options}, problem);
}

std::int64_t double_double_tier_bytes(const Problem& problem) { return visit_forward(TierBytes{}, problem); }

}  // namespace flashproof
