#include "reference/oracle/exact/row_truth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/exact/interval.h"
#include "reference/oracle/exact/interval_edges.h"
#include "reference/oracle/exact/weighted_sum.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

/// A weight is at most 1 but for the width of a capped score. What needs more bits than this above 1 is given up.
constexpr int kBitsAboveOne = 64;

/// softcap·tanh(x / softcap).
void cap(Interval& result, const ExactScore& x, int unit, const Interval& softcap) {
  set_interval(raw(result), x, unit);
  result /= softcap;
  mpfi_tanh(raw(result), raw(result));
  result *= softcap;
}

/// The exponents s_j − m of a row. Softmax is shift-invariant: for any real m the outputs are the same, and
/// lse = m + log Σ e^(s_j − m). So m needs to be exact, but only near the maximum: every exponent is then about 0 or
/// less, and the largest weight about 1.
class Exponents {
 public:
  explicit Exponents(const Row& row)
      : row_(row), softcap_(row.softcap), capped_(row.capped.size(), [this](std::size_t j, Interval& x) {
          cap(x, row_.capped[j], row_.unit, softcap_);
        }) {
    if (row.capped.empty()) {
      top_ = std::max_element(row.score.begin(), row.score.end()) - row.score.begin();
      return;
    }
    // m = score_top + the lower end of cap_top. top is the first j that exceeds every other as far as the lower ends
    // and rounded sums tell: off by some n·softcap·2^-bits at most, and that does not make anything wrong.
    Interval gap;
    Interval lower;
    mpfi_set_fr(raw(top_cap_), &raw(capped_[0])->left);
    for (std::size_t j = 1; j < row.score.size(); ++j) {
      mpfi_set_fr(raw(lower), &raw(capped_[j])->left);
      set_interval(raw(gap), row.score[j] - row.score[top_], row.unit);
      gap += lower - top_cap_;
      if (mpfr_sgn(&raw(gap)->left) <= 0) continue;
      top_ = static_cast<std::ptrdiff_t>(j);
      top_cap_ = lower;
    }
  }
  // capped_ holds `this`.
  Exponents(const Exponents&) = delete;
  Exponents& operator=(const Exponents&) = delete;

  void get(std::size_t j, Interval& exponent) {
    set_interval(raw(exponent), row_.score[j] - row_.score[top_], row_.unit);
    if (!row_.capped.empty()) exponent += capped_[j] - top_cap_;
  }
  Interval shift() const {
    Interval m;
    set_interval(raw(m), row_.score[top_], row_.unit);
    if (!row_.capped.empty()) m += top_cap_;
    return m;
  }

 private:
  const Row& row_;
  Interval softcap_;
  PerKey capped_;
  std::ptrdiff_t top_ = 0;
  Interval top_cap_ = 0;  // a point
};

/// Σ w_j v_j per column. The weights become integers W_j = floor(w_j 2^bits), so the sum of W_j V_j is exact and the
/// only error is that of the weights: 0 <= w_j 2^bits − W_j <= widest, hence at most widest · Σ |v_j| over the keys
/// whose weight is not exact. (A weight of exactly 1, every tie with the maximum of exact scores, is.)
class Numerators {
 public:
  Numerators(const RowValues& values, int bits)
      : values_(values),
        bits_(bits),
        sum_(values.format, values.width, bits + kBitsAboveOne),
        value_(values.width),
        slack_(values.width, 0.0) {}

  void add(std::size_t j, const Interval& weight) {
    if (!mpfi_bounded_p(raw(weight))) bounded_ = false;
    if (!bounded_) return;
    outer_integers(raw(low_), raw(high_), raw(weight), bits_);
    if (mpz_sizeinbase(raw(high_), 2) > static_cast<std::size_t>(bits_) + kBitsAboveOne) bounded_ = false;
    if (!bounded_) return;
    values_.read(j, value_);
    const bool exact = low_ == high_;
    if (!exact) widest_ = std::max(widest_, Integer(high_ - low_));
    for (std::size_t c = 0; c < value_.size(); ++c) {
      sum_.add(raw(low_), c, dyadic(value_[c]));
      if (!exact) slack_[c] += std::fabs(value_[c]);
    }
    ++keys_;
  }

  void divide(const Interval& total, std::vector<Ball>& o) const {
    // n rounded additions of non-negative doubles lose at most a factor (1 − 2^-53)^n.
    const double inflate = 1.0 + static_cast<double>(keys_ + 1) * std::numeric_limits<double>::epsilon();
    Interval around;
    mpfi_interv_si(raw(around), -1, 1);
    Integer sum;
    Interval numerator;
    Interval error;
    for (std::size_t c = 0; c < slack_.size(); ++c) {
      if (!bounded_) {
        o.push_back({.radius = kInfinity});
        continue;
      }
      sum_.get(c, raw(sum));
      set_interval(raw(numerator), raw(sum), sum_.unit_exponent() - bits_);
      if (slack_[c] != 0.0) {
        set_interval(raw(error), raw(widest_), -bits_);
        numerator += around * (error * Interval(slack_[c] * inflate));
      }
      o.push_back(to_ball(raw(Interval(numerator / total))));
    }
  }

 private:
  const RowValues& values_;
  int bits_;
  WeightedSum sum_;
  std::vector<double> value_;
  std::vector<double> slack_;  // Σ |v_j| over the weights that are not exact
  Integer low_, high_, widest_ = 0;
  std::int64_t keys_ = 0;
  bool bounded_ = true;
};

}  // namespace

RowTruth row_truth(const Row& row, int bits) {
  const PrecisionScope precision(bits);
  const std::size_t keys = row.score.size() - (row.last_is_sink ? 1 : 0);  // with an output
  Exponents exponents(row);
  Interval exponent;
  const auto compute_weight = [&](std::size_t j, Interval& weight) {
    exponents.get(j, exponent);
    exp_interval(raw(weight), raw(exponent));
  };

  const auto counted = [&](std::size_t j, const Interval& weight) {
    return row.factor.empty() ? weight : Interval(weight * Interval(row.factor[j]));
  };

  RowTruth truth;
  Interval total = 0;
  if (row.form == RowForm::sum) {
    Numerators numerators(row.values, bits);
    Interval weight;
    for (std::size_t j = 0; j < row.score.size(); ++j) {
      compute_weight(j, weight);
      total += counted(j, weight);
      if (j < keys) numerators.add(j, weight);
    }
    numerators.divide(total, truth.o);
  } else {
    PerKey weight(row.score.size(), compute_weight);
    for (std::size_t j = 0; j < row.score.size(); ++j) total += counted(j, weight[j]);
    std::vector<double> value(row.form == RowForm::blocks ? row.values.width : 0);
    for (std::size_t j = 0; j < keys; ++j) {
      const Interval share = weight[j] / total;
      if (row.form == RowForm::weights) {
        truth.o.push_back(to_ball(raw(share)));
        continue;
      }
      row.values.read(j, value);
      for (const double v : value) truth.o.push_back(to_ball(raw(Interval(share * Interval(v)))));
    }
  }
  truth.lse = to_ball(raw(Interval(exponents.shift() + log(total))));
  return truth;
}

std::int64_t row_truth_bytes(Format format, std::int64_t keys, std::int64_t width, bool softcap, int bits) {
  // An interval is two MPFR headers of 32 bytes and two allocations, each rounded up to 16 with 16 of its own.
  const std::int64_t interval = 2 * (32 + bits / 8 + 8 + 32);
  const std::int64_t kept = std::min<std::int64_t>(keys, PerKey::kKept) * (interval + 1);
  const std::int64_t sums = WeightedSum::bytes(format, width, bits + kBitsAboveOne) + width * 16;
  return (softcap ? 2 : 1) * kept + sums;
}

}  // namespace flashproof
