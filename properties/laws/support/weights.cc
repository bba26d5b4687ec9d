#include "properties/laws/support/weights.h"

#include <algorithm>
#include <cmath>

#include "properties/laws/support/change.h"
#include "reference/problem/score_terms.h"

namespace flashproof {
namespace {

constexpr double kNegInf = -std::numeric_limits<double>::infinity();

/// Products of two elements are exact in double (at most 48 bits). n additions: n·2^-53 of the sum of magnitudes, doubled
/// for their second order.
Measured dot(const AttentionProblem& p, std::int64_t q, std::int64_t k) {
  double sum = 0, size = 0;
  for (std::int64_t c = 0; c < p.head_dim(); ++c) {
    const double term =
        decode(p.q.format, p.q.bits(q + c * p.q.stride[3])) * decode(p.k.format, p.k.bits(k + c * p.k.stride[3]));
    sum += term;
    size += std::fabs(term);
  }
  return {sum, size * static_cast<double>(p.head_dim()) * 0x1p-52};
}

/// c·tanh(x/c): a slope of at most 1 carries the radius; quotient, tanh and product stay within 2^-49 of |x|.
Measured capped(Measured x, double softcap) {
  if (softcap == 0) return x;
  return {softcap * std::tanh(x.value / softcap), x.radius + std::fabs(x.value) * 0x1p-49};
}

class AttentionRows {
 public:
  AttentionRows(const AttentionProblem& problem, Scores scores) : p_(problem), scores_(scores) {}

  void fill(RowWeights& weights, std::int64_t s, std::int64_t h, std::int64_t i) const {
    weights.sequence = s;
    weights.kv_head = p_.kv_head(h);
    weights.sink = p_.has_sink() ? p_.sink.at({h}) : kNegInf;
    const auto keys = p_.visible_keys(s, i);
    for (std::int64_t j = keys.first; j < keys.last; ++j) {
      if (p_.hidden_by_bias(s, h, i, j)) continue;
      weights.key.push_back(j);
      if (scores_ == Scores::compute) weights.score.push_back(score(s, h, i, j));
    }
  }

 private:
  Measured score(std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t kv = p_.kv_head(h);
    const Measured unit = exactly(p_.scale) * exactly(AttentionProblem::descale(p_.q_descale, s, kv)) *
                          exactly(AttentionProblem::descale(p_.k_descale, s, kv));
    Measured score = capped(unit * dot(p_, p_.q_offset(s, h, i), p_.k_offset(s, kv, j)), p_.softcap);
    for_each_added_term(p_, s, h, i, j, [&](double value, std::int64_t times) {
      score = score + exactly(value) * exactly(static_cast<double>(times));
    });
    return score;
  }

  const AttentionProblem& p_;
  Scores scores_;
};

using Visit = std::function<void(const RowWeights&)>;

void visit_rows(const AttentionProblem& p, Scores scores, std::span<const std::uint8_t> ordinary, const Visit& visit) {
  const AttentionRows rows(p, scores);
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
    if (ordinary[static_cast<std::size_t>(row)] == 0) return;
    RowWeights weights{.row = row};
    rows.fill(weights, s, h, i);
    visit(weights);
  });
}

void visit_rows(const MergeProblem& p, Scores scores, std::span<const std::uint8_t> ordinary, const Visit& visit) {
  for (std::int64_t r = 0; r < p.o.shape[1]; ++r) {
    if (ordinary[static_cast<std::size_t>(r)] == 0) continue;
    RowWeights weights{.row = r};
    for (std::int64_t n = 0; n < p.o.shape[0]; ++n) {
      const double lse = p.lse.at({n, r});
      const double l = p.has_l() && lse != kNegInf ? p.l.at({n, r}) : 1;
      if (lse == kNegInf || l == 0) continue;
      weights.key.push_back(n);
      if (scores == Scores::compute) weights.score.push_back(exactly(lse) + log(exactly(l)));
    }
    visit(weights);
  }
}

void visit_rows(const SoftmaxProblem& p, Scores scores, std::span<const std::uint8_t> ordinary, const Visit& visit) {
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    if (ordinary[static_cast<std::size_t>(r)] == 0) continue;
    RowWeights weights{.row = r};
    const std::int64_t length = length_of(p, r);
    for (std::int64_t c = 0; c < length; ++c) {
      const double x = p.x.at({r, c});
      if (x == kNegInf) continue;
      weights.key.push_back(c);
      if (scores == Scores::compute) weights.score.push_back(exactly(x));
    }
    visit(weights);
  }
}

}  // namespace

bool sum_of(const RowWeights& row, RowSum& result) {
  result = RowSum{.most = -std::numeric_limits<double>::infinity()};
  for (const Measured& score : row.score) result.most = std::max(result.most, score.value);
  for (const Measured& score : row.score) {
    const Measured below = score - exactly(result.most);
    if (!(below.radius < 0.25)) return false;
    result.weight.push_back(exp(below));
    result.sum = result.sum + result.weight.back();
  }
  return !row.empty();
}

void for_each_row(const Problem& problem, Scores scores, const Visit& visit) {
  const std::vector<std::uint8_t> ordinary = ordinary_rows(problem);
  visit_forward([&](const auto& p) { visit_rows(p, scores, ordinary, visit); }, problem);
}

}  // namespace flashproof
