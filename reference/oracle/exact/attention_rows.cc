// Attention, one row at a time, straight from the tensors. What the rows of a head share is which vectors are finite;
// decoding k and v again for each row costs less than the exact sums that follow, and a copy of them as exact numbers
// would take 50 bytes and more per element of a long sequence.
#include <cmath>
#include <memory>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/exact/exact_tier.h"
#include "reference/oracle/exact/row_truth.h"
#include "reference/oracle/rows.h"

namespace flashproof {
namespace {

static_assert(kMaxHeadDim + 2 <= (1 << 23), "ExactScore takes 2^23 terms: d products, bias, ALiBi");

double finite_or_zero(double x) { return std::isfinite(x) ? x : 0.0; }

class AttentionRows : public RowTier {
 public:
  explicit AttentionRows(const AttentionProblem& problem) : problem_(problem), query_(problem.head_dim()) {}

  RowBalls row(std::int64_t row, Tier /*tier*/, int bits) override {
    const AttentionRow at = locate(problem_, row);
    HeadFlags& flags = flags_of(at.sequence, problem_.kv_head(at.head));
    RowBalls balls;
    collect_keys(problem_, at, flags, keys_);
    if (symbolic_row(problem_, keys_, balls)) return balls;
    collect_scores(at);

    const Tensor& v = problem_.v;
    const auto read = [&](std::size_t p, std::span<double> values) {
      const std::int64_t offset = problem_.v_offset(at.sequence, problem_.kv_head(at.head), keys_.key[p]);
      for (std::size_t c = 0; c < values.size(); ++c) {
        values[c] = finite_or_zero(decode(v.format, v.bits(offset + static_cast<std::int64_t>(c) * v.stride[3])));
      }
    };
    RowTruth truth = row_truth({.score = score_,
                                .softcap = problem_.softcap,
                                .capped = capped_,
                                .form = RowForm::sum,
                                .values = {.width = problem_.value_dim(), .format = v.format, .read = read},
                                .last_is_sink = keys_.has_sink},
                               bits);
    balls.o = std::move(truth.o);
    balls.lse = truth.lse;
    balls.tier = Tier::exact;
    balls.bits = bits;
    mark_special_values(problem_, at, keys_, flags, balls);
    return balls;
  }

 private:
  HeadFlags& flags_of(std::int64_t sequence, std::int64_t kv_head) {
    if (flags_ == nullptr || sequence != sequence_ || kv_head != kv_head_) {
      flags_ = std::make_unique<HeadFlags>(problem_, sequence, kv_head);
      sequence_ = sequence;
      kv_head_ = kv_head;
    }
    return *flags_;
  }

  /// score += scale·q·k. All finite.
  void add_dot(std::int64_t k_offset, ExactScore& score) const {
    const Tensor& k = problem_.k;
    for (std::size_t c = 0; c < query_.size(); ++c) {
      const std::int64_t offset = k_offset + static_cast<std::int64_t>(c) * k.stride[3];
      score.add(query_[c], dyadic(decode(k.format, k.bits(offset))));
    }
  }

  void collect_scores(const AttentionRow& at) {
    const auto [s, h, i] = at;
    const std::int64_t kv = problem_.kv_head(h);
    const bool softcap = problem_.softcap > 0.0F;
    const double scale = problem_.scale;
    const Dyadic slope = problem_.has_alibi() ? dyadic(-problem_.alibi.at({s, h})) : Dyadic{};
    for (std::size_t c = 0; c < query_.size(); ++c) {
      const std::int64_t offset = problem_.q_offset(s, h, i) + static_cast<std::int64_t>(c) * problem_.q.stride[3];
      // The product of two f32 numbers is a double. A query that is not finite has no finite dot product to be read for.
      query_[c] = dyadic(finite_or_zero(scale * decode(problem_.q.format, problem_.q.bits(offset))));
    }
    score_.clear();
    capped_.clear();
    for (std::size_t p = 0; p < keys_.key.size(); ++p) {
      const std::int64_t j = keys_.key[p];
      ExactScore score;
      ExactScore capped;
      if (softcap && keys_.infinite[p] != 0) {
        score.add(dyadic(keys_.infinite[p] * static_cast<double>(problem_.softcap)), {1, 0});  // ±c, and c·tanh(0) = 0
      } else {
        add_dot(problem_.k_offset(s, kv, j), softcap ? capped : score);
      }
      if (problem_.has_bias()) score.add(dyadic(problem_.bias.at({s, h, i, j})), {1, 0});
      score.add(slope, {alibi_distance(problem_, s, i, j), 0});
      score.normalize();
      score_.push_back(score);
      if (!softcap) continue;
      capped.normalize();
      capped_.push_back(capped);
    }
    if (!keys_.has_sink) return;
    score_.push_back(exact_score(keys_.sink));
    if (softcap) capped_.push_back(ExactScore());  // the softcap is not for the sink
  }

  const AttentionProblem& problem_;
  RowKeys keys_;
  std::vector<ExactScore> score_, capped_;
  std::vector<Dyadic> query_;  // scale·q
  std::int64_t sequence_ = 0, kv_head_ = 0;
  std::unique_ptr<HeadFlags> flags_;  // of this sequence and head; null before the first row
};

}  // namespace

std::unique_ptr<RowTier> exact_rows(const AttentionProblem& problem) {
  return std::make_unique<AttentionRows>(problem);
}

}  // namespace flashproof
