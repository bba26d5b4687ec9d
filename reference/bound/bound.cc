#include "reference/bound/bound.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "reference/bound/problem_bounds.h"
#include "reference/problem/error.h"

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
  bound.accumulator_outside.resize(rows * width);
  return bound;
}

}  // namespace bound

namespace {

/// A declaration that these theorems do not cover is a mistake in the declaration, not a bound of 0.
void require_covered(ProblemKind problem, const Arithmetic& a) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) {
      throw std::invalid_argument(std::string("declared arithmetic: ") + what);
    }
  };
  const auto power_of_two = [](int n) { return n > 0 && (n & (n - 1)) == 0; };
  const bool strided = a.reduction == Reduction::strided_online;
  const bool chunked = a.reduction == Reduction::chunked_online;
  const bool attention = a.reduction == Reduction::chunk_normalized || a.reduction == Reduction::chunk_deferred;
  switch (problem) {
    case ProblemKind::softmax:
      require(strided || chunked, "reduction: softmax takes strided_online or chunked_online");
      break;
    case ProblemKind::merge:
      require(a.reduction == Reduction::pairwise_fold, "reduction: merge takes pairwise_fold");
      break;
    case ProblemKind::attention:
      require(attention, "reduction: attention takes chunk_normalized or chunk_deferred");
      require(a.dot.chains > 0, "dot.chains: at least 1");
      break;
  }
  require(a.exp_error >= 0 && a.exp_error < 0.5 && a.log_error >= 0, "exp_error in [0, 1/2), log_error >= 0");
  if (problem != ProblemKind::merge) {
    require(power_of_two(a.lanes) || (strided && a.lanes == 0 && a.lanes_of != nullptr), "lanes: a power of two");
    require(!chunked || (power_of_two(a.warps) && a.warps <= a.lanes), "warps: a power of two, at most lanes");
  }
}

Bound evaluate(const Problem& problem, const Arithmetic& arithmetic) {
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

/// A window hides keys by position, as causality does: the theorem is about the keys that are left. The other features
/// change scores, sums or places, and no section of README.md covers that.
void require_derived(const Problem& problem) {
  constexpr Feature kDerived[] = {Feature::window};
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  if (attention == nullptr) return;
  if (const auto feature = attention->beyond(kDerived)) {
    throw UsageError(std::string(name(*feature)) +
                     ": no bound is derived for it yet, legal: " + std::string(absence(*feature)));
  }
}

}  // namespace

Bound compute_bound(const Problem& problem, const Arithmetic& arithmetic) {
  require_derived(problem);
  require_covered(kind_of(problem), arithmetic);
  Bound bound = evaluate(problem, arithmetic);
  const auto is_number = [](const ElementBound& b) { return b.total() >= 0; };
  if (!std::ranges::all_of(bound.o, is_number) || !std::ranges::all_of(bound.lse, is_number)) {
    throw std::logic_error("a bound is not a number: the evaluation in reference/bound is wrong for this case");
  }
  return bound;
}

}  // namespace flashproof
