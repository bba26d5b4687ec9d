// Every family really holds its hazard: the generators' own difficulty checks. A generator that goes soft fails here.
#include <gtest/gtest.h>

#include <limits>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

constexpr double kMaxFloat = std::numeric_limits<float>::max();

TEST(Hazard, Staircase) {
  for_each_case(*find_family("staircase"), [](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      int rises = 0;
      double running = -INFINITY;
      for (const double top : visited_maxima(row)) {
        rises += top > running && running > -INFINITY;
        running = std::max(running, top);
      }
      EXPECT_GE(rises, 2) << to_string(made.spec);
    }
  });
}

TEST(Hazard, Descending) {
  for_each_case(*find_family("descending"), [](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      const std::vector<double> maxima = visited_maxima(row);
      EXPECT_EQ(maxima.front(), row_max(row)) << to_string(made.spec);
      EXPECT_LT(maxima.back(), maxima.front()) << to_string(made.spec);
    }
  });
}

TEST(Hazard, Equal) {
  int exact = 0, close = 0;
  for_each_case(*find_family("equal"), [&](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      const double lowest = *std::min_element(row.score.begin(), row.score.end());
      const double top = row_max(row);
      // Levels reach 1000.5 and spread is up to ±4 spacings, 2^-7 of the level in bf16.
      EXPECT_LE(top - lowest, 8 * std::max(1.0, std::abs(top)) / 127) << to_string(made.spec);
      exact += row.score.size() > 1 && top == lowest;
      close += top > lowest;
    }
  });
  EXPECT_GE(exact, 50);
  EXPECT_GE(close, 50);
}

TEST(Hazard, DeepNegative) {
  double deepest = 0;
  for_each_case(*find_family("deep_negative"), [&](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      EXPECT_LE(row_max(row), -89) << to_string(made.spec);
      if (row_max(row) > -INFINITY) deepest = std::min(deepest, row_max(row));
    }
  });
  EXPECT_LT(deepest, -1e30);
}

TEST(Hazard, OverflowEdge) {
  int edges = 0, gaps = 0;
  for_each_case(*find_family("overflow_edge"), [&](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      double sum = 0;
      for (const double score : row.score) sum += std::exp(score);
      const double gap = row_max(row) - *std::min_element(row.score.begin(), row.score.end());
      const bool edge = row_max(row) < 88.7228 && sum > kMaxFloat;
      const bool apart = made.spec.problem == ProblemKind::merge && gap > 86.9 && gap < 105.2;
      EXPECT_TRUE(edge || apart) << to_string(made.spec) << " max " << row_max(row) << " sum " << sum;
      edges += edge;
      gaps += apart;
    }
  });
  EXPECT_GE(edges, 200);
  EXPECT_GE(gaps, 20);
}

TEST(Hazard, SumOverflow) {
  int rows = 0;
  for_each_case(*find_family("sum_overflow"), [&](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      double total = 0;
      for (const std::int32_t chunk : row.plan.order) {
        const auto at = static_cast<std::size_t>(chunk);
        double sum = 0;
        for (std::int32_t j = row.plan.boundary[at]; j < row.plan.boundary[at + 1]; ++j) {
          sum += std::exp(row.score[static_cast<std::size_t>(j)]);
        }
        EXPECT_LT(sum, kMaxFloat) << to_string(made.spec) << " chunk " << chunk;
        total += sum;
      }
      EXPECT_GT(total, kMaxFloat) << to_string(made.spec);
      ++rows;
    }
  });
  EXPECT_GE(rows, 200);
}

// The value of key j in column 0 that row r reads.
double value_at(const Case& made, std::size_t r, std::int64_t j) {
  if (const auto* merge = std::get_if<MergeProblem>(&made.problem)) {
    return merge->o.at({j, static_cast<std::int64_t>(r), 0});
  }
  const auto& p = std::get<AttentionProblem>(made.problem);
  const std::int64_t heads = static_cast<std::int64_t>(r) / p.q_length();
  return p.v.at({heads / p.q_heads(), p.kv_head(heads % p.q_heads()), j, 0});
}

TEST(Hazard, UnderflowBesideHuge) {
  int half = 0;
  for_each_case(*find_family("underflow_beside_huge"), [&](const Case& made) {
    const std::vector<ScoreRow> rows = rows_of(made);
    const bool f16 = format_of(made.problem) == Format::f16;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double top = row_max(rows[r]);
      int weights = 0;
      for (std::size_t j = 0; j < rows[r].score.size(); ++j) {
        const double below = top - rows[r].score[j];
        // Rounding to bf16 moves a logit of up to 144 by 0.5.
        const bool deep = below > 86.7 && below < 105.3;
        const bool shallow = f16 && below > 9.7 && below < 17.3;
        weights += deep || shallow;
        half += shallow;
        if (made.spec.problem == ProblemKind::softmax) continue;
        const double v = std::abs(value_at(made, r, static_cast<std::int64_t>(j)));
        if (deep || shallow) {
          EXPECT_GE(v, f16 ? 1e4 : 2e29) << to_string(made.spec);
        } else {
          EXPECT_EQ(v, 0) << to_string(made.spec);
        }
      }
      EXPECT_GE(weights, 1) << to_string(made.spec);
    }
  });
  EXPECT_GE(half, 20);
}

TEST(Hazard, OneSignedV) {
  for_each_case(*find_family("one_signed_v"), [](const Case& made) {
    const std::vector<ScoreRow> rows = rows_of(made);
    int positive = 0, negative = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t j = 0; j < rows[r].score.size(); ++j) {
        const double v = value_at(made, r, static_cast<std::int64_t>(j));
        positive += v > 0;
        negative += v < 0;
      }
    }
    EXPECT_TRUE(positive == 0 || negative == 0) << to_string(made.spec);
  });
}

TEST(Hazard, CancellingDot) {
  int hard = 0, rows = 0;
  for_each_case(*find_family("cancelling_dot"), [&](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      ++rows;
      hard += row.condition >= 1024;
      EXPECT_LE(std::abs(row_max(row)), 64) << to_string(made.spec);  // not a one-hot row of huge scores
    }
  });
  EXPECT_GE(hard, 0.95 * rows);
}

TEST(Hazard, CancellingDotIsNotExact) {
  // In f32, fused and left to right, the sum must be wrong: else the dot products cancel without rounding.
  int wrong = 0, keys = 0;
  for_each_case(*find_family("cancelling_dot"), [&](const Case& made) {
    const auto& p = std::get<AttentionProblem>(made.problem);
    for (std::int64_t j = 0; j < p.k_length(); ++j) {
      float narrow = 0;
      double wide = 0;
      for (std::int64_t t = 0; t < p.head_dim(); ++t) {
        const double q = p.q.at({0, 0, 0, t}), k = p.k.at({0, 0, j, t});
        narrow = std::fma(static_cast<float>(q), static_cast<float>(k), narrow);
        wide += q * k;
      }
      ++keys;
      wrong += std::abs(narrow - wide) > 0x1p-22 * std::abs(wide);
    }
  });
  EXPECT_GE(wrong, 0.8 * keys);
}

TEST(Hazard, CancellingV) {
  int zero = 0, small = 0, rows_seen = 0;
  for_each_case(*find_family("cancelling_v"), [&](const Case& made) {
    const std::vector<ScoreRow> rows = rows_of(made);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      long double sum = 0, size = 0;
      for (std::size_t j = 0; j < rows[r].score.size(); ++j) {
        const long double p = std::exp(static_cast<long double>(rows[r].score[j] - row_max(rows[r])));
        const double v = value_at(made, r, static_cast<std::int64_t>(j));
        sum += p * v;
        size += p * std::abs(static_cast<long double>(v));
      }
      ++rows_seen;
      zero += std::abs(sum) <= size * 1e-12L;
      small += std::abs(sum) <= size / 64;
    }
  });
  EXPECT_EQ(small, rows_seen);
  EXPECT_GE(zero, 0.3 * rows_seen);
  EXPECT_LE(zero, 0.8 * rows_seen);
}

TEST(Hazard, Huge) {
  for_each_case(*find_family("huge"), [](const Case& made) {
    const Format format = format_of(made.problem);
    double largest = 0;
    for (const ScoreRow& row : rows_of(made)) {
      for (const double score : row.score) {
        if (std::isfinite(score)) largest = std::max(largest, std::abs(score));
      }
    }
    if (made.spec.problem != ProblemKind::softmax) {
      largest = std::max(largest, std::abs(value_at(made, 0, 0)));
    }
    EXPECT_GE(largest, 900) << to_string(made.spec) << " " << info(format).name;
  });
}

TEST(Hazard, HugeIsNotOnlyVacuous) {
  // The terms of a dominating score have one sign, so the error of that score is at most about d u top = 2^-18 top
  // (d = 64, u = 2^-24), and that of a smaller score is smaller: a gap of top / 8 decides, and one above 1e3 leaves no
  // weight to the others.
  int dominated = 0, rows_seen = 0;
  for_each_case(*find_family("huge"), [&](const Case& made) {
    if (made.spec.problem != ProblemKind::attention) return;
    for (const ScoreRow& row : rows_of(made)) {
      double top = -INFINITY, second = -INFINITY;
      for (const double score : row.score) {
        if (score > top) {
          second = top;
          top = score;
        } else {
          second = std::max(second, score);
        }
      }
      ++rows_seen;
      dominated += top > 1e3 && top < kMaxFloat && top - second > 1e3 && top - second > top / 8;
    }
  });
  EXPECT_GE(dominated, 0.15 * rows_seen) << rows_seen;
}

TEST(Hazard, Subnormal) {
  for_each_case(*find_family("subnormal"), [](const Case& made) {
    int tiny = 0;
    const auto count = [&](const Tensor& tensor) {
      const double limit = min_normal(tensor.format);
      for (std::int64_t at = 0; at < std::ssize(tensor.storage) * 8 / info(tensor.format).bits; ++at) {
        const double x = std::abs(decode(tensor.format, tensor.bits(at)));
        tiny += x > 0 && x < limit;
      }
    };
    if (const auto* softmax = std::get_if<SoftmaxProblem>(&made.problem)) {
      count(softmax->x);
    } else if (const auto* merge = std::get_if<MergeProblem>(&made.problem)) {
      count(merge->o);
      count(merge->lse);
    } else {
      const auto& attention = std::get<AttentionProblem>(made.problem);
      count(attention.k);
      count(attention.v);
    }
    EXPECT_GE(tiny, 1) << to_string(made.spec);
  });
}

TEST(Hazard, TileEdges) {
  int before = 0, at = 0, after = 0;
  for_each_case(*find_family("tile_edges"), [&](const Case& made) {
    const auto* softmax = std::get_if<SoftmaxProblem>(&made.problem);
    const auto* attention = std::get_if<AttentionProblem>(&made.problem);
    const ChunkPlan& plan = softmax != nullptr ? softmax->plan : attention->plan;
    const std::int64_t chunk = plan.boundary[1];
    std::vector<std::int32_t> lengths = softmax != nullptr ? softmax->row_length : attention->key_length;
    if (lengths.empty()) lengths = {plan.boundary.back()};
    for (const std::int32_t length : lengths) {
      const std::int64_t rest = length % chunk;
      EXPECT_TRUE(rest == 0 || rest == 1 || rest == chunk - 1 || length == 1) << to_string(made.spec) << length;
      before += rest == chunk - 1;
      at += rest == 0;
      after += rest == 1;
    }
  });
  EXPECT_GE(before, 20);
  EXPECT_GE(at, 20);
  EXPECT_GE(after, 20);
}

TEST(Hazard, ZeroLength) {
  int no_rows = 0, no_length = 0;
  for_each_case(*find_family("zero_length"), [&](const Case& made) {
    const std::vector<ScoreRow> rows = rows_of(made);
    bool empty = rows.empty();
    for (const ScoreRow& row : rows) empty = empty || row_max(row) == -INFINITY;
    EXPECT_TRUE(empty) << to_string(made.spec);
    no_rows += rows.empty();
    no_length += !rows.empty() && rows[0].score.empty();
  });
  EXPECT_GE(no_rows, 3);
  EXPECT_GE(no_length, 3);
}

TEST(Hazard, SpecialValues) {
  int nan_scores = 0, infinite_scores = 0;
  for_each_case(*find_family("special_values"), [&](const Case& made) {
    // Something is not finite in every case: a score that is seen, or an element that is stored.
    bool special = false;
    for (const ScoreRow& row : rows_of(made)) {
      for (const double score : row.score) {
        special = special || !std::isfinite(score);
        nan_scores += std::isnan(score);
        infinite_scores += score == INFINITY;
      }
    }
    const auto scan = [&](const Tensor& tensor) {
      for (std::int64_t at = 0; at < std::ssize(tensor.storage) * 8 / info(tensor.format).bits; ++at) {
        special = special || !std::isfinite(decode(tensor.format, tensor.bits(at)));
      }
    };
    if (const auto* merge = std::get_if<MergeProblem>(&made.problem)) scan(merge->o);
    if (const auto* attention = std::get_if<AttentionProblem>(&made.problem)) {
      scan(attention->k);
      scan(attention->v);
    }
    EXPECT_TRUE(special || made.spec.problem == ProblemKind::softmax) << to_string(made.spec);
  });
  EXPECT_GE(nan_scores, 50);
  EXPECT_GE(infinite_scores, 20);
}

}  // namespace
}  // namespace flashproof
