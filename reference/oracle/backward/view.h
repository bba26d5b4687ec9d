// A backward problem as the tiers read it: dense doubles, which pairs (query, key) have a weight, and what special
// values decide by themselves (README.md, "Special values").
#pragma once

#include <cstdint>
#include <vector>

#include "reference/oracle/symbolic.h"
#include "reference/oracle/truth.h"
#include "reference/problem/backward.h"

namespace flashproof::backward {

/// Of one output element. The strongest counts.
enum Special : std::uint8_t {
  kMayBeNaN = 1,   // a weight of 0 beside an infinity or a NaN: the number, or NaN
  kNotFinite = 2,  // an infinity contributes: ±inf or NaN
  kIsNaN = 4,      // a NaN contributes
};

/// Row-major and dense; what is not finite reads as 0 (`special` decides those outputs).
struct View {
  explicit View(const BackwardProblem& problem);  // must outlive the view

  const BackwardProblem& problem;
  std::int64_t batch, q_heads, k_heads, sq, sk, d, dv, group;
  double scale;
  std::vector<double> q, k, v, d_out, o;  // o and lse: stage only
  std::vector<double> lse;                // finite or 0

  struct Row {
    std::int64_t b, h, i;
  };
  Row locate(std::int64_t query_row) const {
    return {query_row / sq / q_heads, query_row / sq % q_heads, query_row % sq};
  }
  std::int64_t query_row(std::int64_t b, std::int64_t h, std::int64_t i) const { return (b * q_heads + h) * sq + i; }
  std::int64_t key_row(std::int64_t b, std::int64_t kv, std::int64_t j) const { return (b * k_heads + kv) * sk + j; }
  /// Of key j, as a row of this query sees it.
  std::int64_t key_row(const Row& row, std::int64_t j) const { return key_row(row.b, row.h / group, j); }

  /// P_ij is a number above 0: visible, a finite score, and a row whose lse is finite.
  bool weighted(const Row& row, std::int64_t j) const;
  /// Ascending.
  std::vector<std::int64_t> weighted_keys(const Row& row) const;
  /// The keys that no mask hides and that have no weight all the same: their score or their row's lse is infinite, or NaN.
  std::vector<std::int64_t> weightless_keys(const Row& row) const;
  /// A number, of a key that no mask hides.
  bool has_score(const Row& row, std::int64_t j) const;
  double bias(const Row& row, std::int64_t j) const {
    return problem.forward.has_bias() ? problem.forward.bias.at({row.b, row.h, row.i, j}) : 0.0;
  }
  /// −slope of the head, 0 without ALiBi, and what it multiplies.
  double slope(const Row& row) const {
    return problem.forward.has_alibi() ? -problem.forward.alibi.at({row.b, row.h}) : 0.0;
  }
  std::int64_t distance(const Row& row, std::int64_t j) const {
    const std::int64_t beside = row.i + sk - sq;
    return beside < j ? j - beside : beside - j;
  }

  std::vector<std::uint8_t> dq_special, dk_special, dv_special;  // per element, of Special; empty: none in the problem

 private:
  enum class Lse : std::uint8_t { finite, zero_weights, infinite_weights, nan };

  std::vector<Lse> row_state_;
  std::vector<std::uint8_t> q_finite_, k_finite_, v_kind_, d_out_kind_;

  double dot(const Row& row, std::int64_t j) const;
  double score_for_class(const Row& row, std::int64_t j) const;
  void mark_row(std::int64_t query_row);
  void mark(std::vector<std::uint8_t>& flags, std::int64_t row, std::int64_t width, std::uint8_t special) const;
};

/// Replaces `ball` where special values decide the element.
void apply_special(std::uint8_t special, Ball& ball);

/// What a view allocates, in bytes, from above.
std::int64_t view_bytes(const BackwardProblem& problem);

}  // namespace flashproof::backward
