#include "reference/bound/bound.h"

#include <cmath>
#include <limits>

#include "reference/bound/problem_bounds.h"

#ifdef __FAST_MATH__
#error "flashproof must not be built with -ffast-math: the bounds rely on IEEE arithmetic"
#endif

namespace flashproof {

namespace bound {

Bound zero_bound(std::int64_t rows, std::int64_t width) {
  Bound bound;
  bound.rows = rows;
  bound.width = width;
  bound.o.resize(rows * width);
  bound.lse.resize(rows);
  bound.range.assign(rows * width, std::numeric_limits<double>::infinity());
  bound.domain.resize(rows);
  return bound;
}

RowModel model_for(const Arithmetic& arithmetic) {
  // fl(log2 e) differs from log2 e by 1.335e-8 of it; the product rounds once more.
  constexpr double kLog2eError = 0x1.dp-27;
  RowModel model;
  model.exponent_slope =
      arithmetic.exp_form == ExpForm::accurate ? kU : ((1 + kU) * (1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-40);
  model.exp_error = arithmetic.exp_error;
  return model;
}

}  // namespace bound

Bound compute_bound(const Problem& problem, const Arithmetic& arithmetic) {
  switch (kind_of(problem)) {
    case ProblemKind::softmax:
      return bound::softmax_bound(std::get<SoftmaxProblem>(problem), arithmetic);
    case ProblemKind::merge:
      return bound::merge_bound(std::get<MergeProblem>(problem), arithmetic);
    case ProblemKind::attention:
      break;
  }
  return bound::attention_bound(std::get<AttentionProblem>(problem), arithmetic);
}

}  // namespace flashproof
