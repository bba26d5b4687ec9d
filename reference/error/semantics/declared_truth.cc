#include "reference/error/semantics/declared_truth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/error/error_stats.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

constexpr Ball kNothingDeclared{.classes = kUnspecified};

Ball of_class(double value) {
  return {.classes = std::isnan(value) ? std::uint8_t{kNaN} : std::uint8_t{value > 0 ? kPosInf : kNegInf}};
}

/// Times log2(e), as two doubles: what that loses is below 2^-100 of the number.
Ball to_base_2(const Ball& ball) {
  const double product = ball.hi * kLog2E;
  const double tail = std::fma(ball.hi, kLog2E, -product) + (ball.hi * kLog2ETail + ball.lo * kLog2E);
  const double hi = product + tail;
  return {.hi = hi,
          .lo = tail - (hi - product),
          .radius = ball.radius * kLog2E * (1 + 0x1p-50) + std::fabs(hi) * 0x1p-98,
          .classes = ball.classes};
}

Tensor zeros(const Tensor& like) {
  Tensor tensor = Tensor::dense(like.format, like.shape);
  std::ranges::fill(tensor.storage, std::byte{0});
  return tensor;
}

/// Every key that is stored for a sequence, the same score for all.
Problem equal_scores_of(const AttentionProblem& p) {
  AttentionProblem equal;
  equal.q = zeros(p.q);
  equal.k = zeros(p.k);
  equal.v = p.v;
  equal.v_descale = p.v_descale;
  equal.q_start = p.q_start;
  equal.k_start = p.k_start;
  equal.page_table = p.page_table;
  if (p.paged()) equal.key_length = p.key_length;  // the rest of its pages is room, not keys
  equal.plan = p.plan;
  return equal;
}

void scale(ElementBound& bound, double factor) {
  for (double* term : {&bound.weights, &bound.numerator, &bound.denominator, &bound.output, &bound.probable,
                       &bound.drift, &bound.size}) {
    *term *= factor;
  }
}

}  // namespace

double base_2_rounding(const ElementBound& lse, double frame) {
  constexpr double kU = unit_roundoff(Format::f32), kConstant = 0x1.dp-27;  // |fl(log2 e)/log2 e − 1|
  const double of_lse = 2 * kU * lse.size;
  const double of_frame = (kU + kConstant * (1 + kU)) * (frame + lse.total());
  return (of_lse + of_frame) * kLog2E * (1 + 0x1p-20);
}

DeclaredTruth::DeclaredTruth(const Problem& problem, const Semantics& semantics, const Truth& exact)
    : semantics_(semantics), kinds_(row_kinds(problem)), truth_(exact) {
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) visible_ = p->row_length;
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  if (semantics.empty_o == EmptyOutput::mean && attention != nullptr &&
      std::ranges::find(kinds_, RowKind::empty) != kinds_.end()) {
    equal_ = equal_scores_of(*attention);
    mean_ = compute_truth(*equal_);
  }
  truth_.make_columns();
  for (std::int64_t r = 0; r < truth_.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    truth_.lse.set(row, lse_of(r, truth_.lse[row]));
    for (std::int64_t c = 0; c < truth_.width; ++c) {
      const auto i = static_cast<std::size_t>(r * truth_.width + c);
      truth_.o.set(i, o_of(r, c, truth_.o[i]));
    }
  }
}

bool DeclaredTruth::is_mean(std::int64_t row) const {
  return equal_ && kinds_[static_cast<std::size_t>(row)] == RowKind::empty;
}

Ball DeclaredTruth::lse_of(std::int64_t row, const Ball& exact) const {
  const RowKind kind = kinds_[static_cast<std::size_t>(row)];
  if (kind == RowKind::numbers) return semantics_.lse_base == LseBase::two ? to_base_2(exact) : exact;
  const std::optional<double> value = special_lse(semantics_, kind);
  return value ? of_class(*value) : kNothingDeclared;
}

Ball DeclaredTruth::o_of(std::int64_t row, std::int64_t column, const Ball& exact) const {
  if (kinds_[static_cast<std::size_t>(row)] != RowKind::empty) {
    return exact.classes == kNaN && semantics_.nan_o == NanOutput::any ? kNothingDeclared : exact;
  }
  switch (semantics_.empty_o) {
    case EmptyOutput::zero:
      break;
    case EmptyOutput::any:
      return kNothingDeclared;
    case EmptyOutput::mean: {
      if (!equal_) return kNothingDeclared;
      const Ball mean = mean_.o[static_cast<std::size_t>(row * truth_.width + column)];
      // Without a single stored key there is no mean.
      return mean_.lse[static_cast<std::size_t>(row)].classes == kNegInf ? kNothingDeclared : mean;
    }
    case EmptyOutput::nan:
      // 0 where row_length says 0, or NaN as in the rest of the row.
      if (!visible_.empty() && column >= visible_[static_cast<std::size_t>(row)]) return {.classes = kFinite | kNaN};
      return {.classes = kNaN};
  }
  return exact;
}

RowBalls DeclaredTruth::translated(RowBalls balls, std::int64_t row) const {
  balls.lse = lse_of(row, balls.lse);
  for (std::size_t c = 0; c < balls.o.size(); ++c) balls.o[c] = o_of(row, static_cast<std::int64_t>(c), balls.o[c]);
  return balls;
}

TrivialGaps DeclaredTruth::translated(TrivialGaps gaps) const {
  const TrivialGaps of_equal = equal_ ? trivial_gaps(*equal_, mean_) : TrivialGaps{};
  for (std::int64_t r = 0; r < truth_.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    if (semantics_.lse_base == LseBase::two) {
      TrivialGap& gap = gaps.lse[row];
      gap.distance *= kLog2E * (1 - 0x1p-50);
      const Ball lse = truth_.lse[row];
      // 1 is no multiple of what it was.
      if (lse.classes == kFinite) gap.consider(Trivial::one, 1, lse, ulp(Format::f32, lse) / 2);
    }
    // The mean of the values is what a kernel that computes no weights returns.
    for (std::int64_t i = r * truth_.width; i < (r + 1) * truth_.width && is_mean(r); ++i) {
      gaps.o[static_cast<std::size_t>(i)] = of_equal.o[static_cast<std::size_t>(i)];
    }
  }
  return gaps;
}

Bound DeclaredTruth::translated(Bound bound, const Bound* of_equal) const {
  const auto width = static_cast<std::size_t>(truth_.width);
  for (std::size_t row = 0; row < kinds_.size(); ++row) {
    if (semantics_.lse_base == LseBase::two) {
      ElementBound& lse = bound.lse[row];
      const double rounding = base_2_rounding(lse, bound.frame[row]);
      scale(lse, kLog2E * (1 + 0x1p-50));
      lse.output += rounding;
      lse.probable += rounding;
    }
    if (!is_mean(static_cast<std::int64_t>(row)) || of_equal == nullptr) continue;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      bound.o[i] = of_equal->o[i];
      bound.range[i] = of_equal->range[i];
      bound.accumulator_outside[i] = of_equal->accumulator_outside[i];
    }
    bound.domain[row] = of_equal->domain[row];
  }
  return bound;
}

}  // namespace flashproof
