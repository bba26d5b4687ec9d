// What every reader of a problem may rely on. Attention: validate_attention.cc.
#include <fmt/format.h>

#include "reference/problem/checks.h"
#include "reference/problem/problems.h"
#include "reference/system/error.h"

namespace flashproof {

using namespace checks;

namespace {

/// (m, −inf) is empty, whatever l holds; NaN and +inf have their answer.
void check_l(const MergeProblem& p) {
  if (!p.has_l()) return check_absent("l", p.l);
  check_tensor("l", p.l, 2, Legal::f32);
  const std::int64_t states = p.o.shape[0], rows = p.o.shape[1];
  check_shape("l", p.l, {states, rows});
  // The strides of a hostile file may make 2^40 elements of a few numbers.
  if (rows > 0 && states > kMaxExtent / rows) {
    throw UsageError(fmt::format("l: {} x {} elements, must be at most {}", states, rows, kMaxExtent));
  }
  for (std::int64_t s = 0; s < states; ++s) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const double l = p.l.at({s, r});
      if (l < 0 && p.lse.at({s, r}) != -std::numeric_limits<double>::infinity()) {
        throw UsageError(fmt::format("l[{}, {}]: {}, must be 0 or more, or NaN, where lse is not -inf", s, r,
                                     static_cast<float>(l)));
      }
    }
  }
}

/// n − 1 joins use 2(n − 1) nodes: if none is used twice, then each but the last is used.
void check_joins(const MergeProblem& p) {
  if (p.joins.empty()) return;
  const std::int64_t states = p.o.shape[0];
  const auto joins = static_cast<std::int64_t>(p.joins.size());
  if (joins != states - 1) {
    throw UsageError(fmt::format("joins: {} joins, must be none or {}, one fewer than states", joins, states - 1));
  }
  std::vector<bool> used(static_cast<std::size_t>(states + joins), false);
  for (std::int64_t k = 0; k < joins; ++k) {
    const Join& join = p.joins[static_cast<std::size_t>(k)];
    for (const std::int32_t node : {join.left, join.right}) {
      if (node < 0 || node >= states + k) {
        throw UsageError(
            fmt::format("joins[{}]: node {}, must be 0..{}, one that is made before it", k, node, states + k - 1));
      }
      if (used[static_cast<std::size_t>(node)]) {
        throw UsageError(fmt::format("joins[{}]: node {} is used twice, must be one that is not used yet", k, node));
      }
      used[static_cast<std::size_t>(node)] = true;
    }
  }
}

}  // namespace

void validate(const SoftmaxProblem& problem) {
  check_tensor("x", problem.x, 2, Legal::storage);
  check_output(problem.x.shape[0], problem.x.shape[1]);
  check_lengths("row_length", problem.row_length, problem.x.shape[0], problem.x.shape[1]);
  check_plan(problem.plan, problem.x.shape[1]);
}

void validate(const MergeProblem& problem) {
  check_tensor("o", problem.o, 3, Legal::storage);
  check_tensor("lse", problem.lse, 2, Legal::f32);
  const Shape& shape = problem.o.shape;
  check_axis("o axis 0 (states)", shape[0], 1, kMaxExtent);
  check_axis("o axis 2 (dv)", shape[2], 1, kMaxHeadDim);
  check_shape("lse", problem.lse, {shape[0], shape[1]});
  if (problem.form != MergeForm::sum && problem.form != MergeForm::concat) {
    throw UsageError("form: must be sum or concat");
  }
  check_output(shape[1], shape[2] * (problem.form == MergeForm::concat ? shape[0] : 1));
  check_permutation("order", problem.order, shape[0]);
  check_joins(problem);
  check_l(problem);
}

void validate(const Problem& problem) {
  std::visit([](const auto& p) { validate(p); }, problem);
}

}  // namespace flashproof
