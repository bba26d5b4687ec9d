// The exact tier of the backward pass. Scores, s − lse and dP − D (stage) are dyadic rationals of bounded size and are
// computed without rounding, so that no cancellation there costs a bit; what follows is interval arithmetic.
#include <mpfi.h>

#include <memory>
#include <optional>
#include <vector>

#include "reference/oracle/backward/tiers.h"
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/exact/exact_score.h"
#include "reference/oracle/exact/interval.h"
#include "reference/oracle/exact/interval_edges.h"

namespace flashproof::backward {
namespace {

/// Beyond every format, and far enough inside a double that hi + lo can say anything below it.
constexpr double kBeyond = 0x1p1000;

Ball ball_of(const Interval& x) {
  mpfi_srcptr ends = raw(x);
  if (mpfr_nan_p(&ends->left) != 0 || mpfr_nan_p(&ends->right) != 0) {
    return {.radius = std::numeric_limits<double>::infinity()};
  }
  if (mpfr_cmp_d(&ends->left, kBeyond) > 0) return special_ball(kPosInf);
  if (mpfr_cmp_d(&ends->right, -kBeyond) < 0) return special_ball(kNegInf);
  if (mpfr_cmp_d(&ends->left, -kBeyond) < 0 || mpfr_cmp_d(&ends->right, kBeyond) > 0) {
    return {.radius = std::numeric_limits<double>::infinity()};
  }
  return to_ball(ends);
}

/// target += x · factor; `factor` is exact.
void add_product(Interval& target, const Interval& x, double factor, Interval& scratch) {
  mpfi_mul_d(raw(scratch), raw(x), factor);
  target += scratch;
}

class Rows : public ExactRows {
 public:
  explicit Rows(const View& view) : view_(view), stats_(static_cast<std::size_t>(view.problem.query_rows())) {}

  std::vector<Ball> query_row(std::int64_t r, int bits) override {
    const PrecisionScope precision(bits);
    start(bits);
    const View::Row row = view_.locate(r);
    std::vector<Interval> sum(static_cast<std::size_t>(view_.d), Interval(0));
    Interval weight, slope, scratch;
    for (const std::int64_t j : view_.weighted_keys(row)) {
      weigh(r, row, j, weight, slope);
      const Interval ds = weight * slope;
      const double* k = &view_.k[view_.key_row(row, j) * view_.d];
      for (std::size_t c = 0; c < sum.size(); ++c) add_product(sum[c], ds, k[c], scratch);
    }
    std::vector<Ball> balls;
    append(sum, view_.scale, balls);
    return balls;
  }

  std::vector<Ball> key_row(std::int64_t row, int bits) override {
    const PrecisionScope precision(bits);
    start(bits);
    const std::int64_t j = row % view_.sk, kv = row / view_.sk % view_.k_heads, b = row / view_.sk / view_.k_heads;
    std::vector<Interval> dk(static_cast<std::size_t>(view_.d), Interval(0));
    std::vector<Interval> dv(static_cast<std::size_t>(view_.dv), Interval(0));
    Interval weight, slope, scratch;
    for (std::int64_t h = kv * view_.group; h < (kv + 1) * view_.group; ++h) {
      for (std::int64_t i = 0; i < view_.sq; ++i) {
        const View::Row at{b, h, i};
        if (!view_.weighted(at, j)) continue;
        const std::int64_t r = view_.query_row(b, h, i);
        weigh(r, at, j, weight, slope);
        const Interval ds = weight * slope;
        for (std::size_t c = 0; c < dk.size(); ++c) add_product(dk[c], ds, view_.q[r * view_.d + c], scratch);
        for (std::size_t c = 0; c < dv.size(); ++c) add_product(dv[c], weight, view_.d_out[r * view_.dv + c], scratch);
      }
    }
    std::vector<Ball> balls;
    append(dk, view_.scale, balls);
    append(dv, 1, balls);
    return balls;
  }

 private:
  /// Of a row of the gradient: weights are e^(s − top) / sum.
  struct Stats {
    ExactScore top;
    Interval sum, delta;
  };

  /// Statistics of another precision are of no use: an interval keeps the precision it was made with.
  void start(int bits) {
    if (bits != bits_) stats_.assign(stats_.size(), std::nullopt);
    bits_ = bits;
  }

  static void append(std::vector<Interval>& sums, double factor, std::vector<Ball>& balls) {
    for (Interval& sum : sums) {
      mpfi_mul_d(raw(sum), raw(sum), factor);
      balls.push_back(ball_of(sum));
    }
  }

  ExactScore score(std::int64_t r, const View::Row& row, std::int64_t j) const {
    ExactScore sum;
    const double* q = &view_.q[r * view_.d];
    const double* k = &view_.k[view_.key_row(row, j) * view_.d];
    for (std::int64_t c = 0; c < view_.d; ++c) sum.add(dyadic(view_.scale * q[c]), dyadic(k[c]));  // τq is a double
    sum.add(dyadic(view_.bias(row, j)), {1, 0});
    sum.add(dyadic(view_.slope(row)), {view_.distance(row, j), 0});
    sum.normalize();
    return sum;
  }

  /// dO_i · x; 65,536 terms at most.
  ExactScore with_d_out(std::int64_t r, const double* x) const {
    ExactScore sum;
    const double* d_out = &view_.d_out[r * view_.dv];
    for (std::int64_t c = 0; c < view_.dv; ++c) sum.add(dyadic(d_out[c]), dyadic(x[c]));
    sum.normalize();
    return sum;
  }
  ExactScore dp(std::int64_t r, const View::Row& row, std::int64_t j) const {
    return with_d_out(r, &view_.v[view_.key_row(row, j) * view_.dv]);
  }

  /// weight = P_ij, slope = dP_ij − D_i.
  void weigh(std::int64_t r, const View::Row& row, std::int64_t j, Interval& weight, Interval& slope) {
    Interval exponent;
    if (view_.problem.mode == BackwardMode::stage) {
      set_interval(raw(exponent), score(r, row, j) - exact_score(view_.lse[r]));
      exp_interval(raw(weight), raw(exponent));
      set_interval(raw(slope), dp(r, row, j) - with_d_out(r, &view_.o[r * view_.dv]));
      return;
    }
    const Stats& stats = stats_of(r, row);
    set_interval(raw(exponent), score(r, row, j) - stats.top);
    exp_interval(raw(weight), raw(exponent));
    weight /= stats.sum;
    set_interval(raw(slope), dp(r, row, j));
    slope -= stats.delta;
  }

  const Stats& stats_of(std::int64_t r, const View::Row& row) {
    std::optional<Stats>& stats = stats_[r];
    if (stats.has_value()) return *stats;
    stats.emplace();
    const std::vector<std::int64_t> keys = view_.weighted_keys(row);
    std::vector<ExactScore> scores;
    scores.reserve(keys.size());
    for (const std::int64_t j : keys) scores.push_back(score(r, row, j));
    stats->top = scores[0];
    for (const ExactScore& s : scores) {
      if (s > stats->top) stats->top = s;
    }
    stats->sum = 0;
    stats->delta = 0;
    Interval exponent, weight, dp_interval;
    for (std::size_t n = 0; n < keys.size(); ++n) {
      set_interval(raw(exponent), scores[n] - stats->top);
      exp_interval(raw(weight), raw(exponent));
      set_interval(raw(dp_interval), dp(r, row, keys[n]));
      stats->sum += weight;
      stats->delta += weight * dp_interval;
    }
    stats->delta /= stats->sum;
    return *stats;
  }

  const View& view_;
  std::vector<std::optional<Stats>> stats_;
  int bits_ = 0;
};

}  // namespace

std::unique_ptr<ExactRows> exact_rows(const View& view) { return std::make_unique<Rows>(view); }

}  // namespace flashproof::backward
