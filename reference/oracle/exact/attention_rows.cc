// Attention, one row at a time, straight from the tensors. What the rows of a head share is which vectors are finite;
// decoding k and v again for each row costs less than the exact sums that follow, and a copy of them as exact numbers
// would take 50 bytes and more per element of a long sequence.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "reference/oracle/descale.h"
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/exact/exact_tier.h"
#include "reference/oracle/exact/row_truth.h"
#include "reference/oracle/rows.h"
#include "reference/problem/score_terms.h"

namespace flashproof {
namespace {

static_assert(kMaxHeadDim + 16 <= (1 << 23), "ExactScore takes 2^23 terms: d products and what is added to them");

double finite_or_zero(double x) { return std::isfinite(x) ? x : 0.0; }

/// The exact scale·q_descale·k_descale as a sum of numbers of at most 24 bits, so that each times q is a double.
std::vector<double> parts_of(const ScoreFactor& factor) {
  std::vector<double> parts;
  for (double high = factor.hi, low = factor.lo; high != 0.0;) {
    int exponent = 0;
    const double significand = std::frexp(high, &exponent);  // the leading 24 bits, toward zero
    const double part = std::ldexp(std::trunc(std::ldexp(significand, 24)), exponent - 24);
    parts.push_back(part);
    high -= part;
    if (high != 0.0) continue;
    high = low;
    low = 0.0;
  }
  if (parts.empty()) parts.push_back(0.0);
  return parts;
}

/// The power of two by which scores with descale factors are divided: their lowest bit then stands at that of ExactScore.
/// (factor)·q·k is a multiple of 2^(lowest bit of the factor − 298), the rest of a score of 2^-149. A factor of 72 bits
/// from 2^-447 on leaves sums below 2^161 at most 906 bits above that; one of up to 2^384 leaves 2^664 at most 814.
int unit_of(const ScoreFactor& factor) {
  const double lowest = factor.lo != 0.0 ? factor.lo : factor.hi;
  const Dyadic bit = dyadic(lowest);
  const int of_dot = bit.significand == 0 ? 0 : bit.exponent - 298;
  return std::min(of_dot, -149) - ExactScore::kLowestExponent;
}

class AttentionRows : public RowTier {
 public:
  explicit AttentionRows(const AttentionProblem& problem) : problem_(problem) {}

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
                                .unit = unit_,
                                .form = RowForm::sum,
                                .values = {.width = problem_.value_dim(), .format = v.format, .read = read},
                                .last_is_sink = keys_.has_sink},
                               bits);
    balls.o = std::move(truth.o);
    balls.lse = truth.lse;
    balls.tier = Tier::exact;
    balls.bits = bits;
    descale_values(problem_, at, balls);
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
    const auto depth = static_cast<std::size_t>(problem_.head_dim());
    for (std::size_t c = 0; c < depth; ++c) {
      const Dyadic key = dyadic(decode(k.format, k.bits(k_offset + static_cast<std::int64_t>(c) * k.stride[3])));
      for (std::size_t at = c; at < query_.size(); at += depth) score.add(query_[at], key);
    }
  }

  /// query_ and unit_ of this row.
  void scale_query(const AttentionRow& at) {
    const auto [s, h, i] = at;
    const std::int64_t kv = problem_.kv_head(h);
    const Tensor& q = problem_.q;
    unit_ = 0;
    std::vector<double> parts = {problem_.scale};
    if (!problem_.q_descale.shape.empty() || !problem_.k_descale.shape.empty()) {
      const ScoreFactor factor = score_factor(problem_, s, kv);
      parts = parts_of(factor);
      unit_ = unit_of(factor);
    }
    query_.clear();
    for (const double part : parts) {
      for (std::int64_t c = 0; c < problem_.head_dim(); ++c) {
        const double x = decode(q.format, q.bits(problem_.q_offset(s, h, i) + c * q.stride[3]));
        // 48 bits: a double. A query that is not finite has no finite dot product to be read for.
        Dyadic product = dyadic(finite_or_zero(part * x));
        product.exponent -= unit_;
        query_.push_back(product);
      }
    }
  }

  void collect_scores(const AttentionRow& at) {
    const auto [s, h, i] = at;
    const std::int64_t kv = problem_.kv_head(h);
    const bool softcap = problem_.softcap > 0.0F;
    scale_query(at);
    const Dyadic one{1, -unit_};
    score_.clear();
    capped_.clear();
    for (std::size_t p = 0; p < keys_.key.size(); ++p) {
      const std::int64_t j = keys_.key[p];
      ExactScore score;
      ExactScore capped;
      if (softcap && keys_.infinite[p] != 0) {
        score.add(dyadic(keys_.infinite[p] * static_cast<double>(problem_.softcap)), one);  // ±c, and c·tanh(0) = 0
      } else {
        add_dot(problem_.k_offset(s, kv, j), softcap ? capped : score);
      }
      for_each_added_term(problem_, s, h, i, j,
                          [&](double value, std::int64_t times) { score.add(dyadic(value), {times, -unit_}); });
      score.normalize();
      score_.push_back(score);
      if (!softcap) continue;
      capped.normalize();
      capped_.push_back(capped);
    }
    if (!keys_.has_sink) return;
    ExactScore sink;
    sink.add(dyadic(keys_.sink), one);
    sink.normalize();
    score_.push_back(sink);
    if (softcap) capped_.push_back(ExactScore());  // the softcap is not for the sink
  }

  const AttentionProblem& problem_;
  RowKeys keys_;
  std::vector<ExactScore> score_, capped_;
  std::vector<Dyadic> query_;  // scale·q, in up to four parts one after another
  int unit_ = 0;               // scores are kept divided by 2^unit_
  std::int64_t sequence_ = 0, kv_head_ = 0;
  std::unique_ptr<HeadFlags> flags_;  // of this sequence and head; null before the first row
};

}  // namespace

std::unique_ptr<RowTier> exact_rows(const AttentionProblem& problem) {
  return std::make_unique<AttentionRows>(problem);
}

}  // namespace flashproof
