#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/error/error_stats.h"
#include "reference/problem/special_values.h"
#include "reports/diagnose/hypotheses/alternative.h"

namespace flashproof {
namespace {

/// Other weights of the same terms. Values are computed here, in Real; the bound is twice what the declaration gives relative
/// to Σ p|v| (of o), or in absolute terms (lse), in this row or, where its answer is symbolic, in the worst row of the case.
class OfWeights : public Alternative {
 public:
  OfWeights(const Observation& seen, const Hypothesis& hypothesis) : seen_(seen), hypothesis_(hypothesis) {
    for (std::int64_t row = 0; row < seen.truth().rows; ++row) {
      if (const double r = relative(row); r < kMost) relative_ = std::max(relative_, r);
      if (const double l = 2 * seen.bound().lse[static_cast<std::size_t>(row)].total(); l < kMost)
        lse_ = std::max(lse_, l);
    }
    if (relative_ == 0) relative_ = kTypical;
    if (lse_ == 0) lse_ = kTypical;
  }

  bool begin(Part, std::int64_t row) override {
    terms_ = row_terms(seen_.subject().problem, seen_.kernel().arithmetic, row);
    weights_.emplace(terms_);
    if (!hypothesis_.row(terms_, *weights_)) return false;
    sum_ = total(*weights_);
    true_sum_ = total(RowWeights(terms_));
    most_ = terms_.sink;
    for (const Term& t : terms_.terms)
      if (t.visible) most_ = std::max(most_, t.score);
    const double own = relative(row), lse = 2 * seen_.bound().lse[static_cast<std::size_t>(row)].total();
    row_relative_ = own > 0 && own < kMost ? own : relative_;
    row_lse_ = lse > 0 && lse < kMost ? lse : lse_;
    return true;
  }

  Decision decide(Part part, std::int64_t row, std::int64_t column) override {
    ElementBound bound;
    Real value = 0;
    if (part == Part::lse) {
      value = lse();
      bound.output = row_lse_ * (weights_->meaning == LseMeaning::base_2 ? 1.5 : 1);
      if (std::isfinite(value)) bound.output += 0x1p-24 * std::fabs(static_cast<double>(value));
      if (!weights_->weight_error.empty()) bound.output += static_cast<double>(lse_error());
      bound.output += static_cast<double>(sum_error());
      if (std::isinf(value)) bound.output = 0;
    } else {
      Real size = 0;
      value = output(column, size);
      bound.output = row_relative_ * static_cast<double>(size) + 0x1p-140;
      if (size == 0) bound.output = 0;
      bound.output += static_cast<double>(weights_->value_error * largest_value(column) + value_error(column, value) +
                                          sum_error() * size);
    }
    ball = ball_of(value);
    const std::int64_t index = part == Part::lse ? row : row * seen_.width(part) + column;
    const Tensor& tensor = seen_.output()[part];
    const std::uint64_t bits = tensor.bits(index);
    static const RowDomain kInside;
    const Element e{part, row,   column,    tensor.format, bits, decode(tensor.format, bits),
                    ball, bound, kInfinity, kInside};
    reach = bound_with_rounding(e.format, ball, bound);
    return flashproof::decide(e, seen_.kernel().contract);
  }

 private:
  static constexpr double kMost = 0.5, kTypical = 0x1p-18;

  double relative(std::int64_t row) const {
    double most = 0;
    const std::int64_t width = seen_.width(Part::o);
    for (std::int64_t c = 0; c < width; ++c) {
      const ElementBound& b = seen_.bound().o[static_cast<std::size_t>(row * width + c)];
      if (b.size > 0) most = std::max(most, 2 * b.total() / b.size);
    }
    return most;
  }

  /// Σ e^x as e^frame · factor: a finite stand-in for -inf as the score of all keys would swallow the logarithm.
  struct Total {
    Real frame = kNothing, factor = 0;
    Real logarithm() const { return factor == 0 ? kNothing : frame + std::log(factor); }
    Real share(Real exponent) const { return exponent == kNothing ? Real{0} : std::exp(exponent - frame) / factor; }
  };
  static Total total(const RowWeights& weights) {
    std::vector<Real> all = weights.denominator;
    all.push_back(weights.extra);
    Total t;
    for (const Real x : all) t.frame = std::isnan(x) || x > t.frame ? x : t.frame;  // a NaN stays
    if (t.frame == kNothing) return t;
    for (const Real x : all) t.factor += std::exp(x - t.frame);
    return t;
  }

  Real share(std::size_t j) const { return sum_.share(weights_->numerator[j]); }
  /// What relative errors of the weights do to lse, and to a column of o.
  Real lse_error() const {
    Real sum = 0;
    for (std::size_t j = 0; j < weights_->weight_error.size(); ++j) sum += share(j) * weights_->weight_error[j];
    return 2 * sum;
  }
  Real sum_error() const {
    Real sum = 0;
    for (std::size_t j = 0; j < weights_->sum_error.size(); ++j) sum += share(j) * weights_->sum_error[j];
    return 2 * sum;
  }
  Real value_error(std::int64_t column, Real value) const {
    Real sum = 0;
    for (std::size_t j = 0; j < weights_->weight_error.size(); ++j) {
      if (weights_->numerator[j] != kNothing)
        sum += share(j) * weights_->weight_error[j] * std::fabs(terms_.value(j, column) - value);
    }
    return 2 * sum;
  }
  Real largest_value(std::int64_t column) const {
    Real most = 0;
    if (weights_->value_error == 0) return most;
    for (std::size_t j = 0; j < terms_.terms.size(); ++j) {
      if (terms_.terms[j].visible)
        most = std::max(most, std::fabs(terms_.value(j, terms_.block > 0 ? column % terms_.block : column)));
    }
    return most;
  }

  static Ball ball_of(Real value) {
    const auto x = static_cast<double>(value);
    if (class_of(x) != kFinite) return {0, 0, 0, static_cast<std::uint8_t>(class_of(x))};
    // A Real is right to 2^-63; sums of thousands of products and an exponential of a score below 2^12 lose less than 2^-45.
    return {x, 0, std::fabs(x) * 0x1p-45};
  }

  Real lse() const {
    const Real natural = weights_->lse.value_or(sum_.logarithm());
    switch (weights_->meaning) {
      case LseMeaning::base_2:
        return natural / std::log(Real{2});
      case LseMeaning::maximum:
        return most_;
      case LseMeaning::negative:
        return -natural;
      default:
        return natural;
    }
  }

  /// `size`: the sum of the magnitudes of what is added.
  Real output(std::int64_t column, Real& size) const {
    const bool as_true = column < weights_->from_column;
    const Total& all = as_true ? true_sum_ : sum_;
    const auto exponent = [&](std::size_t j) {
      if (!as_true) return weights_->numerator[j];
      return terms_.terms[j].visible ? terms_.terms[j].score : kNothing;
    };
    const auto weight = [&](std::size_t j) {
      if (as_true || !weights_->undivided) return all.share(exponent(j));
      return exponent(j) == kNothing ? Real{0} : std::exp(exponent(j) - most_);
    };
    if (terms_.kind == ProblemKind::softmax) {
      if (column >= static_cast<std::int64_t>(terms_.terms.size())) return 0;
      const auto j = static_cast<std::size_t>(column);
      const Real y = weights_->logarithm ? terms_.terms[j].score - sum_.logarithm() : weight(j);
      size = std::fabs(y);
      return y;
    }
    Real sum = 0;
    const std::size_t first = terms_.block > 0 ? static_cast<std::size_t>(column / terms_.block) : 0;
    const std::size_t end = terms_.block > 0 ? first + 1 : terms_.terms.size();
    for (std::size_t j = first; j < end; ++j) {
      if (exponent(j) == kNothing) continue;
      const Real term = weight(j) * terms_.value(j, terms_.block > 0 ? column % terms_.block : column);
      sum += term;
      size += std::fabs(term);
    }
    return sum;
  }

  const Observation& seen_;
  const Hypothesis& hypothesis_;
  double relative_ = 0, lse_ = 0, row_relative_ = 0, row_lse_ = 0;
  RowTerms terms_;
  std::optional<RowWeights> weights_;
  Total sum_, true_sum_;
  Real most_ = 0;
};

}  // namespace

std::unique_ptr<Alternative> other_weights(const Observation& seen, const Hypothesis& hypothesis) {
  return std::make_unique<OfWeights>(seen, hypothesis);
}

}  // namespace flashproof
