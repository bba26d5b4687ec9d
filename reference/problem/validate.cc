// What every reader of a problem may rely on. Attention: validate_attention.cc.
#include "reference/problem/checks.h"
#include "reference/problem/error.h"
#include "reference/problem/problems.h"

namespace flashproof {

using namespace checks;

void validate(const SoftmaxProblem& problem) {
  check_tensor("x", problem.x, 2, false);
  check_output(problem.x.shape[0], problem.x.shape[1]);
  check_lengths("row_length", problem.row_length, problem.x.shape[0], problem.x.shape[1]);
  check_plan(problem.plan, problem.x.shape[1]);
}

void validate(const MergeProblem& problem) {
  check_tensor("o", problem.o, 3, false);
  check_tensor("lse", problem.lse, 2, true);
  const Shape& shape = problem.o.shape;
  check_axis("o axis 0 (states)", shape[0], 1, kMaxExtent);
  check_axis("o axis 2 (dv)", shape[2], 1, kMaxHeadDim);
  check_shape("lse", problem.lse, {shape[0], shape[1]});
  if (problem.form != MergeForm::sum && problem.form != MergeForm::concat) {
    throw UsageError("form: must be sum or concat");
  }
  check_output(shape[1], shape[2] * (problem.form == MergeForm::concat ? shape[0] : 1));
  check_permutation("order", problem.order, shape[0]);
}

void validate(const Problem& problem) {
  std::visit([](const auto& p) { validate(p); }, problem);
}

}  // namespace flashproof
