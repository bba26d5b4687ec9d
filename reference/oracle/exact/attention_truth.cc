#include <cmath>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/oracle_parts.h"
#include "reference/oracle/symbolic.h"

namespace flashproof {
namespace {

static_assert(kMaxHeadDim + 1 <= (1 << 23), "ExactScore takes 2^23 terms");

/// rows x depth numbers, decoded once. `part` is what the exact dot product reads.
struct Vectors {
  std::int64_t depth = 0;
  std::vector<double> value;
  std::vector<Dyadic> part;
  std::vector<char> finite;  // per row

  std::span<const double> values(std::int64_t row) const { return std::span(value).subspan(row * depth, depth); }
  std::span<const Dyadic> parts(std::int64_t row) const { return std::span(part).subspan(row * depth, depth); }
};

/// `factor` times the (b, h) slice of a tensor (B, H, rows, depth); exact, the factor is an f32 number.
Vectors load(const Tensor& tensor, std::int64_t b, std::int64_t h, double factor) {
  Vectors vectors;
  vectors.depth = tensor.shape[3];
  for (std::int64_t i = 0; i < tensor.shape[2]; ++i) {
    bool finite = true;
    for (std::int64_t c = 0; c < vectors.depth; ++c) {
      const double x = tensor.at({b, h, i, c});
      finite = finite && std::isfinite(x);
      vectors.value.push_back(x);
      vectors.part.push_back(std::isfinite(x) ? dyadic(factor * x) : Dyadic{});
    }
    vectors.finite.push_back(finite ? 1 : 0);
  }
  return vectors;
}

/// The dot product in plain doubles: only its class is used.
double class_of_dot(std::span<const double> q, std::span<const double> k) {
  double sum = 0.0;
  for (std::size_t c = 0; c < q.size(); ++c) sum += q[c] * k[c];
  return sum;
}

struct Head {
  const AttentionProblem& problem;
  std::int64_t b;
  std::int64_t h;
  const Vectors& q;  // values of q, parts of scale·q
  const Vectors& k;
};

void collect_keys(const Head& head, std::int64_t i, RowKeys& keys) {
  const AttentionProblem& problem = head.problem;
  keys.clear();
  for (std::int64_t j = 0; j < problem.k_length(); ++j) {
    if (!problem.position_visible(head.b, i, j)) continue;
    const double bias = problem.has_bias() ? problem.bias.at({head.b, head.h, i, j}) : 0.0;
    const bool finite_dot = head.q.finite[i] != 0 && head.k.finite[j] != 0;
    const double dot = finite_dot ? 0.0 : class_of_dot(head.q.values(i), head.k.values(j));
    const ScoreClass score_class = classify_score(problem.scale, dot, bias);
    if (score_class == ScoreClass::poison) {
      keys.poisoned = true;
      return;
    }
    if (score_class == ScoreClass::hidden) continue;
    ExactScore score;
    const auto q = head.q.parts(i);
    const auto k = head.k.parts(j);
    for (std::size_t c = 0; c < q.size(); ++c) score.add(q[c], k[c]);
    score.add(dyadic(bias), {1, 0});
    score.normalize();
    keys.score.push_back(score);
    keys.key.push_back(j);
  }
}

void fill_row(const RowTruth& result, const RowKeys& keys, const Vectors& v, std::span<Ball> o) {
  const bool finite = std::ranges::all_of(keys.key, [&](std::int64_t j) { return v.finite[j] != 0; });
  for (std::size_t c = 0; c < o.size(); ++c) {
    ValueFlags flags;
    if (!finite) {
      for (const std::int64_t j : keys.key) flags.add(v.values(j)[c]);
    }
    o[c] = flags.classes() == kFinite ? result.o[c] : special_ball(flags.classes());
  }
}

/// All query rows of head h, whose keys and values are given.
void head_truth(const Head& head, const Vectors& v, const ValueMatrix& matrix, Truth& truth) {
  const AttentionProblem& problem = head.problem;
  RowKeys keys;
  for (std::int64_t i = 0; i < problem.q_length(); ++i) {
    const std::int64_t row = (head.b * problem.q_heads() + head.h) * problem.q_length() + i;
    const std::span<Ball> o(truth.o.data() + row * truth.width, truth.width);
    collect_keys(head, i, keys);
    if (keys.poisoned) {
      std::ranges::fill(o, special_ball(kNaN));
      truth.lse[row] = special_ball(kNaN);
    } else if (keys.key.empty()) {
      truth.lse[row] = special_ball(kNegInf);  // o stays 0
    } else {
      const RowTruth result =
          row_truth({.score = keys.score, .key = keys.key, .values = &matrix, .form = RowForm::sum});
      fill_row(result, keys, v, o);
      truth.lse[row] = result.lse;
      truth.max_bits = std::max(truth.max_bits, result.bits);
    }
  }
}

}  // namespace

Truth exact_truth(const AttentionProblem& problem) {
  Truth truth;
  truth.rows = problem.batch() * problem.q_heads() * problem.q_length();
  truth.width = problem.value_dim();
  truth.o.assign(truth.rows * truth.width, zero_ball());
  truth.lse.assign(truth.rows, zero_ball());
  // One kv head at a time: memory stays at one K and one V, and the query heads that share them reuse the decoding.
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t kv = 0; kv < problem.k_heads(); ++kv) {
      const Vectors k = load(problem.k, b, kv, 1.0);
      const Vectors v = load(problem.v, b, kv, 1.0);
      const ValueMatrix matrix(v.value, problem.value_dim());
      for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
        if (problem.kv_head(h) != kv) continue;
        const Vectors q = load(problem.q, b, h, problem.scale);
        head_truth({problem, b, h, q, k}, v, matrix, truth);
      }
    }
  }
  return truth;
}

}  // namespace flashproof
