#include "reference/oracle/exact/exact_tier.h"

#include <algorithm>
#include <variant>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/exact/exact_score.h"
#include "reference/oracle/exact/row_truth.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/rows.h"

namespace flashproof {
namespace {

/// A vector that is filled once may have room for twice as much.
constexpr std::int64_t kGrowth = 2;
/// Of one key: its number, and its score.
constexpr std::int64_t kKeyBytes = kGrowth * (sizeof(std::int64_t) + sizeof(ExactScore));

std::int64_t bytes(const SoftmaxProblem& problem) {
  const std::int64_t cols = problem.x.shape[1];
  const std::int64_t balls = (1 + kGrowth) * cols * sizeof(Ball);
  return cols * kKeyBytes + balls + row_truth_bytes(problem.x.format, cols, 0, false, kMaxBits);
}

std::int64_t bytes(const MergeProblem& problem) {
  const std::int64_t states = problem.o.shape[0];
  const std::int64_t width = problem.o.shape[2];
  // Not output_shape(): that takes a Problem, and to make one would copy every state.
  const std::int64_t blocks = problem.form == MergeForm::concat ? states : 1;
  const std::int64_t balls = (1 + kGrowth) * blocks * width * sizeof(Ball);
  const std::int64_t factor = problem.has_l() ? kGrowth * static_cast<std::int64_t>(sizeof(double)) : 0;
  return states * (kKeyBytes + factor) + balls + row_truth_bytes(problem.o.format, states, width, false, kMaxBits);
}

std::int64_t bytes(const AttentionProblem& problem) {
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < problem.sequences(); ++s) longest = std::max(longest, problem.visible_length(s));
  const bool softcap = problem.softcap > 0.0F;
  const std::int64_t capped = softcap ? kGrowth * (sizeof(ExactScore) + sizeof(std::int8_t)) : 0;
  const std::int64_t balls = (1 + kGrowth) * problem.value_dim() * sizeof(Ball);
  const std::int64_t decoded = problem.head_dim() * static_cast<std::int64_t>(sizeof(double) + 3 * sizeof(Dyadic));
  // One more key: the sink.
  return (longest + 1) * (kKeyBytes + capped + HeadFlags::kBytes) + balls + decoded +
         row_truth_bytes(problem.v.format, longest + 1, problem.value_dim(), softcap, kMaxBits);
}

}  // namespace

std::unique_ptr<RowTier> exact_tier(const Problem& problem) {
  return visit_forward([](const auto& p) { return exact_rows(p); }, problem);
}

std::int64_t exact_tier_bytes(const Problem& problem) {
  return visit_forward([](const auto& p) { return bytes(p); }, problem);
}

}  // namespace flashproof
