// The fp64 tier of the backward pass: every quantity as a double and a bound of its error (README.md, "fp64"; the
// numbers in brackets are its steps).
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/oracle/backward/tiers.h"
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/problem/special_values.h"

namespace flashproof::backward {
namespace {

constexpr double kU = 0x1p-53;
constexpr double kSlack = 1 + 0x1p-20;  // of every radius: its own evaluation, and second order
constexpr double kNothing = 0x1p-700;   // weights below e^-707, and products that leave the normal range of a double
constexpr double kWidestScore = 0.25;   // beyond this error of an exponent a weight has no radius

/// Σ a_c b_c of exact products, and its error [1].
struct Dot {
  double value, radius;
};
Dot dot(const double* a, const double* b, std::int64_t n) {
  double value = 0;
  double size = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    const double product = a[c] * b[c];  // two f32 numbers: exact
    value += product;
    size += std::fabs(product);
  }
  return {value, static_cast<double>(n + 2) * kU * size * kSlack};
}

/// Σ x_n y_c with an error of every x_n, for one output row [6].
struct Sums {
  explicit Sums(std::int64_t elements)
      : value(static_cast<std::size_t>(elements)), size(value.size()), radius(value.size()) {}

  void add(std::int64_t first, double x, double x_radius, const double* y, std::int64_t width) {
    double* const values = &value[first];
    double* const sizes = &size[first];
    double* const radii = &radius[first];
    for (std::int64_t c = 0; c < width; ++c) {
      const double product = x * y[c];
      values[c] += product;
      sizes[c] += std::fabs(product);
      radii[c] += x_radius * std::fabs(y[c]);
    }
  }
  /// Ball of factor · sum n, after `terms` terms.
  Ball ball(std::size_t n, double factor, double terms) const {
    const double result = factor * value[n];
    const double error = std::fabs(factor) * (radius[n] + (terms + 2) * kU * size[n]) + kU * std::fabs(result);
    const double total = error * kSlack + (size[n] == 0 && radius[n] == 0 ? 0 : 0x1p-600);
    if (!std::isfinite(result) || !std::isfinite(total)) return {.radius = kInfinity};
    return {.hi = result, .radius = total};
  }

  std::vector<double> value, size, radius;
};

/// One pair of the row at hand.
struct Pair {
  std::int64_t key = 0;
  double score = 0, score_radius = 0;
  double p = 0, p_radius = 0;
  double dp = 0, dp_radius = 0;
};

/// e^x of an x known within `radius` [3]. False: doubles cannot say.
bool weigh(double x, double radius, double& p, double& p_radius) {
  if (x + radius < kExpLowest) {
    p = 0;
    p_radius = kNothing;
    return true;
  }
  if (!(radius <= kWidestScore) || !(x <= 700)) return false;
  p = x < kExpLowest ? 0 : proven_exp(x);
  p_radius = p * (1.14 * radius + kExpError) * (1 + 0x1p-10) + kNothing;
  return true;
}

class Gradients {
 public:
  explicit Gradients(const View& view)
      : view_(view),
        dq_(view.problem.query_rows() * view.d),
        dk_(view.problem.key_rows() * view.d),
        dv_(view.problem.key_rows() * view.dv),
        query_terms_(static_cast<std::size_t>(view.problem.query_rows()), 0),
        key_terms_(static_cast<std::size_t>(view.problem.key_rows()), 0) {}

  Fp64Gradients run() {
    for (std::int64_t r = 0; r < view_.problem.query_rows(); ++r) row(r);
    Fp64Gradients result;
    result.dq = balls(dq_, query_terms_, view_.d, view_.scale);
    result.dk = balls(dk_, key_terms_, view_.d, view_.scale);
    result.dv = balls(dv_, key_terms_, view_.dv, 1);
    return result;
  }

 private:
  /// Scores, their errors and dP of the row [1, 2].
  void collect(std::int64_t r, const View::Row& row) {
    pairs_.clear();
    const double* q = &view_.q[r * view_.d];
    const double slope = view_.slope(row);
    const bool biased = view_.problem.forward.has_bias() || view_.problem.forward.has_alibi();
    for (const std::int64_t j : view_.weighted_keys(row)) {
      Pair pair{.key = view_.key_row(row, j)};
      const Dot t = dot(q, &view_.k[pair.key * view_.d], view_.d);
      pair.score = view_.scale * t.value;
      pair.score_radius = std::fabs(view_.scale) * t.radius + kU * std::fabs(pair.score);
      if (biased) {
        const double alibi = slope * static_cast<double>(view_.distance(row, j));
        pair.score += view_.bias(row, j);
        pair.score_radius += kU * std::fabs(pair.score);
        pair.score += alibi;
        pair.score_radius += kU * (std::fabs(alibi) + std::fabs(pair.score));
      }
      const Dot dp = dot(&view_.d_out[r * view_.dv], &view_.v[pair.key * view_.dv], view_.dv);
      pair.dp = dp.value;
      pair.dp_radius = dp.radius;
      pairs_.push_back(pair);
    }
  }

  /// Weights from the stored lse [3].
  bool weigh_stage(std::int64_t r) {
    return std::ranges::all_of(pairs_, [&](Pair& pair) {
      const double x = pair.score - view_.lse[r];
      return weigh(x, (pair.score_radius + kU * std::fabs(x)) * kSlack, pair.p, pair.p_radius);
    });
  }
  /// Weights from the row's own sum [4].
  bool weigh_gradient() {
    double top = -kInfinity;
    for (const Pair& pair : pairs_) top = std::max(top, pair.score);
    double sum = 0;
    double radius = 0;
    for (Pair& pair : pairs_) {
      const double x = pair.score - top;
      if (!weigh(x, (pair.score_radius + kU * std::fabs(x)) * kSlack, pair.p, pair.p_radius)) return false;
      sum += pair.p;
      radius += pair.p_radius;
    }
    const double relative = (radius / sum + static_cast<double>(pairs_.size()) * kU) * kSlack;
    if (!(relative < 0.5)) return false;
    for (Pair& pair : pairs_) {
      // (p ± r) / (L (1 ± ρ)), ρ < 1/2: within (r + 2ρ p + 2ρ r) / L, or tighter for the small ρ of nearly all rows.
      const double widened = relative / (1 - relative);
      pair.p /= sum;
      pair.p_radius = (pair.p_radius / sum * (1 + widened) + pair.p * (widened + 2 * kU)) * kSlack + kNothing;
    }
    return true;
  }
  /// D_i: dO·o, or Σ P dP [5].
  Dot delta(std::int64_t r) const {
    if (view_.problem.mode == BackwardMode::stage) {
      return dot(&view_.d_out[r * view_.dv], &view_.o[r * view_.dv], view_.dv);
    }
    double value = 0;
    double size = 0;
    double radius = 0;
    for (const Pair& pair : pairs_) {
      const double product = pair.p * pair.dp;
      value += product;
      size += std::fabs(product);
      radius += pair.p_radius * (std::fabs(pair.dp) + pair.dp_radius) + pair.p * pair.dp_radius + kNothing;
    }
    return {value, (radius + static_cast<double>(pairs_.size() + 2) * kU * size) * kSlack};
  }

  void row(std::int64_t r) {
    const View::Row at = view_.locate(r);
    collect(r, at);
    if (pairs_.empty()) return;
    const bool stage = view_.problem.mode == BackwardMode::stage;
    const bool known = stage ? weigh_stage(r) : weigh_gradient();
    query_terms_[r] = known ? static_cast<double>(pairs_.size()) : kInfinity;
    const Dot d = known ? delta(r) : Dot{0, 0};
    for (const Pair& pair : pairs_) {
      if (!known) {
        key_terms_[pair.key] = kInfinity;
        continue;
      }
      key_terms_[pair.key] += 1;
      const double t = pair.dp - d.value;
      const double t_radius = pair.dp_radius + d.radius + kU * std::fabs(t);
      const double ds = pair.p * t;
      const double ds_radius =
          (pair.p * t_radius + pair.p_radius * (std::fabs(t) + t_radius) + kU * std::fabs(ds)) * kSlack + kNothing;
      dq_.add(r * view_.d, ds, ds_radius, &view_.k[pair.key * view_.d], view_.d);
      dk_.add(pair.key * view_.d, ds, ds_radius, &view_.q[r * view_.d], view_.d);
      dv_.add(pair.key * view_.dv, pair.p, pair.p_radius, &view_.d_out[r * view_.dv], view_.dv);
    }
  }

  static Balls balls(const Sums& sums, const std::vector<double>& terms, std::int64_t width, double factor) {
    Balls result(sums.value.size());
    for (std::size_t n = 0; n < sums.value.size(); ++n) {
      const double row_terms = terms[n / static_cast<std::size_t>(width)];
      result.set(n, std::isinf(row_terms) ? Ball{.radius = kInfinity} : sums.ball(n, factor, row_terms));
    }
    return result;
  }

  const View& view_;
  Sums dq_, dk_, dv_;
  std::vector<double> query_terms_, key_terms_;  // +inf: a pair of the row had no radius
  std::vector<Pair> pairs_;
};

}  // namespace

Fp64Gradients fp64_gradients(const View& view) { return Gradients(view).run(); }

}  // namespace flashproof::backward
