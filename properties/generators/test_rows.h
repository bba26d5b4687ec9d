// Test support: the rows of logits that a case really holds, read back from its tensors, independent of how a family
// wrote them. Doubles are enough: the hazards tested leave wide margins.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "properties/generators/family.h"
#include "properties/generators/keys.h"
#include "properties/generators/plan.h"

namespace flashproof {

struct ScoreRow {
  std::vector<double> score;  // −inf where the key is not visible or masked
  double condition = 1;       // attention: the largest Σ|q_t k_t| / |Σ q_t k_t| of the row
  ChunkPlan plan;
};

inline std::vector<ScoreRow> rows_of(const SoftmaxProblem& p) {
  std::vector<ScoreRow> rows;
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    ScoreRow row{{}, 1, p.plan};
    const std::int64_t length = p.row_length.empty() ? p.x.shape[1] : p.row_length[static_cast<std::size_t>(r)];
    for (std::int64_t j = 0; j < p.x.shape[1]; ++j) row.score.push_back(j < length ? p.x.at({r, j}) : -INFINITY);
    rows.push_back(std::move(row));
  }
  return rows;
}

inline std::vector<ScoreRow> rows_of(const MergeProblem& p) {
  std::vector<ScoreRow> rows;
  for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) {
    ScoreRow row{{}, 1, state_plan(p.order)};
    for (std::int64_t c = 0; c < p.lse.shape[0]; ++c) row.score.push_back(p.lse.at({c, r}));
    rows.push_back(std::move(row));
  }
  return rows;
}

inline std::vector<ScoreRow> rows_of(const AttentionProblem& p) {
  std::vector<ScoreRow> rows;
  const auto read = [](const Tensor& tensor, std::int64_t offset, std::int64_t t) {
    return decode(tensor.format, tensor.bits(offset + t * tensor.stride[3]));
  };
  for (std::int64_t b = 0; b < p.sequences(); ++b) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(b); ++i) {
        ScoreRow row{{}, 1, p.plan};
        for (std::int64_t j = 0; j < p.k_length(); ++j) {
          if (!p.position_visible(b, i, j)) {
            row.score.push_back(-INFINITY);
            continue;
          }
          double dot = 0, sum = 0;
          for (std::int64_t t = 0; t < p.head_dim(); ++t) {
            const double product = read(p.q, p.q_offset(b, h, i), t) * read(p.k, p.k_offset(b, p.kv_head(h), j), t);
            dot += product;
            sum += std::abs(product);
          }
          if (dot != 0) row.condition = std::max(row.condition, sum / std::abs(dot));
          double score = p.scale * dot;
          if (p.softcap != 0.0F) score = p.softcap * std::tanh(score / p.softcap);
          const double bias = p.has_bias() ? p.bias.at({b, h, i, j}) : 0;
          const double slope = p.has_alibi() ? p.alibi.at({b, h}) : 0;
          const auto distance = static_cast<double>(std::abs(i + p.k_length(b) - p.q_length(b) - j));
          row.score.push_back(bias == -INFINITY ? bias : score + bias - slope * distance);
        }
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

inline std::vector<ScoreRow> rows_of(const Case& made) {
  return std::visit([](const auto& p) { return rows_of(p); }, made.problem);
}

inline double row_max(const ScoreRow& row) {
  double top = -INFINITY;
  for (const double score : row.score) top = std::max(top, score);
  return top;
}

/// The maximum of each chunk, in the order of the visit.
inline std::vector<double> visited_maxima(const ScoreRow& row) {
  std::vector<double> maxima;
  for (const std::int32_t chunk : row.plan.order) {
    const auto c = static_cast<std::size_t>(chunk);
    double top = -INFINITY;
    for (std::int32_t j = row.plan.boundary[c]; j < row.plan.boundary[c + 1]; ++j) {
      top = std::max(top, row.score[static_cast<std::size_t>(j)]);
    }
    maxima.push_back(top);
  }
  return maxima;
}

constexpr int kSeeds = 20;
inline constexpr const char* kFormatNames[] = {"f32", "f16", "bf16"};

/// Calls check(made) for every problem of the family, every format, seeds 0..kSeeds-1.
template <class Check>
void for_each_case(const Family& family, Check check) {
  for (const ProblemKind problem : family.problems) {
    for (const char* format : kFormatNames) {
      for (int seed = 0; seed < kSeeds; ++seed) {
        CaseSpec spec{problem, std::string(family.name), static_cast<std::uint64_t>(seed), {{"format", format}}};
        check(make_case(spec));
      }
    }
  }
}

}  // namespace flashproof
