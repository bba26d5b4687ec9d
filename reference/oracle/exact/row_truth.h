// One row with finite scores: weights e^(s_j − s_max), their sum, and what is made of them, in intervals whose
// precision doubles until every element is narrow enough. Shared by the three problems.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reference/oracle/exact_score.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/truth.h"

namespace flashproof {

/// keys x width exact numbers with one common quantum, so that weighted sums are sums of integers. Infinities and NaN
/// are kept as 0: their outputs are decided symbolically.
class ValueMatrix {
 public:
  /// Row-major; every finite value is a value of f32, f16 or bf16.
  ValueMatrix(std::span<const double> values, std::int64_t width);
  ValueMatrix(ValueMatrix&&) noexcept;
  ~ValueMatrix();

  struct Integers;
  const Integers& integers() const { return *integers_; }

 private:
  std::unique_ptr<Integers> integers_;
};

/// weights: o_j = p_j.  sum: o = Σ p_j v_j.  blocks: p_j v_j side by side.  With p_j = e^(s_j − lse).
enum class RowForm : std::uint8_t { weights, sum, blocks };

struct Row {
  std::span<const ExactScore> score;    // of the keys with a weight, normalized, at least one
  std::span<const std::int64_t> key;    // their rows in `values`
  const ValueMatrix* values = nullptr;  // not for RowForm::weights
  RowForm form = RowForm::weights;
};

struct RowTruth {
  std::vector<Ball> o;  // weights: one per key. sum: width. blocks: keys x width
  Ball lse;
  int bits = 0;
};

struct PrecisionRange {
  int first = 128;
  int last = kMaxBits;
};

/// Rigorous at any precision; `decided` tells which elements are narrow enough. Only the tests pass a range.
RowTruth row_truth(const Row& row, PrecisionRange range = {});

}  // namespace flashproof
