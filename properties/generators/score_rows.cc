#include "properties/generators/score_rows.h"

#include <cmath>
#include <utility>

#include "properties/generators/plan.h"
#include "reference/problem/score_terms.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

double component(const Tensor& tensor, std::int64_t offset, std::int64_t t) {
  return decode(tensor.format, tensor.bits(offset + t * tensor.stride[3]));
}

double score_of(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j,
                ScoreRow& row) {
  double dot = 0, sum = 0;
  const std::int64_t q = p.q_offset(s, h, i), k = p.k_offset(s, row.kv_head, j);
  for (std::int64_t t = 0; t < p.head_dim(); ++t) {
    const double product = component(p.q, q, t) * component(p.k, k, t);
    dot += product;
    sum += std::abs(product);
  }
  if (dot != 0) row.conditions.push_back(sum / std::abs(dot));
  if (dot != 0) row.condition = std::max(row.condition, sum / std::abs(dot));
  double score = p.scale * AttentionProblem::descale(p.q_descale, s, row.kv_head) *
                 AttentionProblem::descale(p.k_descale, s, row.kv_head) * dot;
  if (p.softcap != 0.0F) {
    row.saturation = std::max(row.saturation, std::abs(score) / p.softcap);
    score = p.softcap * std::tanh(score / p.softcap);
  }
  return score + added_to_score(p, s, h, i, j);
}

}  // namespace

std::vector<ScoreRow> rows_of(const SoftmaxProblem& p) {
  std::vector<ScoreRow> rows;
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    ScoreRow row{{}, 1, p.plan};
    const std::int64_t length = p.row_length.empty() ? p.x.shape[1] : p.row_length[static_cast<std::size_t>(r)];
    row.length = length;
    for (std::int64_t j = 0; j < p.x.shape[1]; ++j) {
      row.score.push_back(j < length ? p.x.at({r, j}) : -kInfinity);
      row.hidden.push_back(row.score.back() == -kInfinity);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ScoreRow> rows_of(const MergeProblem& p) {
  std::vector<ScoreRow> rows;
  for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) {
    ScoreRow row{{}, 1, state_plan(p.order)};
    for (std::int64_t c = 0; c < p.lse.shape[0]; ++c) {
      const double m = p.lse.at({c, r});
      const bool weightless = m == -kInfinity || (p.has_l() && p.l.at({c, r}) == 0);
      row.score.push_back(weightless ? -kInfinity : p.has_l() ? m + std::log(p.l.at({c, r})) : m);
      row.hidden.push_back(weightless);
    }
    row.length = p.lse.shape[0];
    row.width = p.o.shape[2];
    row.value = [&p, r](std::int64_t c, std::int64_t t) {
      return p.has_l() ? p.o.at({c, r, t}) / p.l.at({c, r}) : p.o.at({c, r, t});
    };
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ScoreRow> rows_of(const AttentionProblem& p) {
  std::vector<ScoreRow> rows;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(s); ++i) {
        ScoreRow row{{}, 1, p.plan};
        row.sequence = s;
        row.length = p.visible_length(s);
        row.kv_head = p.kv_head(h);
        if (p.has_sink()) row.sink = p.sink.at({h});
        for (std::int64_t j = 0; j < p.k_length(); ++j) {
          row.hidden.push_back(!p.position_visible(s, i, j) || p.hidden_by_bias(s, h, i, j));
          row.score.push_back(row.hidden.back() ? -kInfinity : score_of(p, s, h, i, j, row));
        }
        row.width = p.value_dim();
        row.value = [&p, s, kv = row.kv_head](std::int64_t j, std::int64_t t) {
          return component(p.v, p.v_offset(s, kv, j), t);
        };
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

std::vector<ScoreRow> rows_of(const Problem& problem) {
  return visit_forward([](const auto& p) { return rows_of(p); }, problem);
}

std::vector<double> visited_maxima(const ScoreRow& row) {
  std::vector<double> maxima;
  for (const std::int32_t chunk : row.plan.order) {
    const auto c = static_cast<std::size_t>(chunk);
    double top = -kInfinity;
    for (std::int32_t j = row.plan.boundary[c]; j < row.plan.boundary[c + 1]; ++j) {
      top = std::max(top, row.score[static_cast<std::size_t>(j)]);
    }
    maxima.push_back(top);
  }
  return maxima;
}

}  // namespace flashproof
