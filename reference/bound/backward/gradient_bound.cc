#include "reference/bound/backward/gradient_bound.h"

#include <cmath>

#include "reference/bound/declare/declaration.h"
#include "reference/bound/row/row_model.h"
#include "reference/oracle/backward/view.h"
#include "reference/oracle/oracle.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// The bound of an output, and its rounding into the format that the backward pass reads it from. Where no number is right
/// the class decides, not an error.
double stored_error(const Ball& exact, const ElementBound& bound, Format format) {
  if ((exact.classes & kFinite) == 0) return 0;
  const double size = std::fabs(exact.hi) + std::fabs(exact.lo) + exact.radius + bound.total();
  return (bound.total() + unit_roundoff(format) * size + min_subnormal(format)) * bound::kSlack;
}

ForwardErrors errors_of_forward(const BackwardProblem& problem, const Bound& bound) {
  const Truth truth = Oracle(problem.forward).truth();
  ForwardErrors errors;
  for (std::size_t i = 0; i < truth.lse.size(); ++i) {
    errors.lse.push_back(stored_error(truth.lse[i], bound.lse[i], Format::f32));
  }
  for (std::size_t i = 0; i < truth.o.size(); ++i) {
    errors.o.push_back(stored_error(truth.o[i], bound.o[i], problem.forward.q.format));
  }
  return errors;
}

/// Raw scores have a bound only for τ > 0; a subnormal τ was not examined for both passes together.
std::string refused(const AttentionProblem& f, const BackwardArithmetic& a) {
  if (std::string why = backward_refused(f, a); !why.empty()) return why;
  if (a.unit == ScoreUnit::raw && !(f.scale > 0))
    return "scale: no gradient's bound for raw scores unless it is above 0";
  const bool tiny = f.scale != 0 && std::fabs(f.scale) < 0x1p-126F;
  return tiny ? "scale: subnormal, legal: 0, or at least 2^-126 in magnitude" : std::string();
}

/// A gradient of a row whose forward pass left its domain has none either, nor have the keys that the row sees.
void require_forward(Bound& bound, const Bound& forward, const BackwardProblem& problem) {
  const backward::View view(problem);
  for (std::int64_t r = 0; r < problem.query_rows(); ++r) {
    RowDomain domain;
    domain.require(forward.domain[static_cast<std::size_t>(r)].nearest);
    for (std::int64_t c = 0; c < view.dv; ++c) {
      domain.require(forward.domain_of(static_cast<std::size_t>(r * view.dv + c)).nearest);
    }
    bound.query_domain[static_cast<std::size_t>(r)].require(domain.nearest);
    const backward::View::Row row = view.locate(r);
    for (const auto& keys : {view.weighted_keys(row), view.weightless_keys(row)}) {
      for (const std::int64_t j : keys) {
        bound.key_domain[static_cast<std::size_t>(view.key_row(row, j))].require(domain.nearest);
      }
    }
  }
}

}  // namespace

std::string gradient_refused(const BackwardProblem& problem, const GradientArithmetic& arithmetic) {
  if (arithmetic.forward.unit == ScoreUnit::raw) {
    if (std::string why = raw_scores_refused(problem.forward); !why.empty()) return why;
  }
  std::string why;
  for (const BackwardArithmetic& a : arithmetic.backward) {
    why = refused(problem.forward, a);
    if (why.empty()) break;
  }
  return why;
}

std::vector<std::optional<Bound>> gradient_bounds(const BackwardProblem& problem,
                                                  const GradientArithmetic& arithmetic) {
  if (const std::string why = gradient_refused(problem, arithmetic); !why.empty()) throw UsageError(why);
  const Bound forward = compute_bound(problem.forward, arithmetic.forward);
  const ForwardErrors errors = errors_of_forward(problem, forward);
  std::vector<std::optional<Bound>> bounds;
  for (const BackwardArithmetic& a : arithmetic.backward) {
    std::optional<Bound>& bound = bounds.emplace_back();
    if (!refused(problem.forward, a).empty()) continue;
    bound = backward_bound(problem, a, errors);
    require_forward(*bound, forward, problem);
  }
  return bounds;
}

Bound gradient_bound(const BackwardProblem& problem, const GradientArithmetic& arithmetic) {
  return widest(gradient_bounds(problem, arithmetic));
}

}  // namespace flashproof
