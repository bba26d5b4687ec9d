#include "reference/oracle/row_truth.h"

#include <algorithm>
#include <boost/multiprecision/gmp.hpp>
#include <boost/multiprecision/mpfi.hpp>
#include <cmath>
#include <limits>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/interval_edges.h"

namespace flashproof {
namespace {

namespace mp = boost::multiprecision;
using Integer = mp::mpz_int;
using Interval = mp::number<mp::mpfi_float_backend<0>, mp::et_off>;

/// New intervals of this thread get at least `bits` bits while it lives. Every interval is made anew at each precision:
/// raising the precision of an old one would not narrow it.
class PrecisionScope {
 public:
  explicit PrecisionScope(int bits) : before_(Interval::thread_default_precision()) {
    // Boost takes decimal digits and allocates floor(1000 digits / 301) + 1 or 2 bits.
    Interval::thread_default_precision(static_cast<unsigned>(bits * 301 / 1000 + 1));
  }
  ~PrecisionScope() { Interval::thread_default_precision(before_); }
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  unsigned before_;
};

mpfi_ptr raw(Interval& x) { return x.backend().data(); }
mpfi_srcptr raw(const Interval& x) { return x.backend().data(); }

Ball judged_ball(const Interval& x) {
  Ball ball = to_ball(raw(x));
  ball.decided = narrow_enough(ball);
  return ball;
}

}  // namespace

struct ValueMatrix::Integers {
  std::int64_t width = 0;
  long quantum = 0;  // value = integer · 2^quantum
  std::vector<Integer> integer;
  std::vector<double> magnitude;  // |value|
};

ValueMatrix::ValueMatrix(std::span<const double> values, std::int64_t width) : integers_(std::make_unique<Integers>()) {
  std::vector<Dyadic> parts;
  parts.reserve(values.size());
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const double value : values) {
    parts.push_back(std::isfinite(value) ? dyadic(value) : Dyadic{});
    if (parts.back().significand != 0) lowest = std::min(lowest, parts.back().exponent);
  }
  integers_->width = width;
  integers_->quantum = lowest == std::numeric_limits<std::int32_t>::max() ? 0 : lowest;  // all zero: any will do
  integers_->integer.reserve(values.size());
  integers_->magnitude.reserve(values.size());
  for (const Dyadic& part : parts) {
    integers_->integer.emplace_back(part.significand);
    if (part.significand != 0) integers_->integer.back() <<= static_cast<unsigned>(part.exponent - lowest);
    integers_->magnitude.push_back(std::fabs(std::ldexp(static_cast<double>(part.significand), part.exponent)));
  }
}

ValueMatrix::ValueMatrix(ValueMatrix&&) noexcept = default;
ValueMatrix::~ValueMatrix() = default;

namespace {

/// Σ w_j v_j per column, divided by Σ w_j. The weights become integers W_j = floor(w_j 2^bits), so the sum of W_j V_j
/// is exact and the only error is that of the weights: 0 <= w_j 2^bits − W_j <= widest, hence at most widest · Σ |v_j|
/// over the keys whose weight is not exact. (A weight of exactly 1, every tie with the maximum, is.)
void weighted_sums(const Row& row, std::span<const Interval> weight, const Interval& total, int bits,
                   std::vector<Ball>& o) {
  const ValueMatrix::Integers& values = row.values->integers();
  const auto width = static_cast<std::size_t>(values.width);
  std::vector<Integer> sum(width);
  std::vector<double> slack(width, 0.0);
  Integer widest = 0;
  Integer low;
  Integer high;
  for (std::size_t j = 0; j < weight.size(); ++j) {
    outer_integers(low.backend().data(), high.backend().data(), raw(weight[j]), bits);
    const std::size_t first = static_cast<std::size_t>(row.key[j]) * width;
    if (low != 0) {
      for (std::size_t c = 0; c < width; ++c) {
        mpz_addmul(sum[c].backend().data(), low.backend().data(), values.integer[first + c].backend().data());
      }
    }
    if (low != high) {
      widest = std::max(widest, Integer(high - low));
      for (std::size_t c = 0; c < width; ++c) slack[c] += values.magnitude[first + c];
    }
  }
  // n rounded additions of non-negative doubles lose at most a factor (1 − 2^-53)^n.
  const double inflate = 1.0 + static_cast<double>(weight.size() + 1) * std::numeric_limits<double>::epsilon();
  Interval around;
  mpfi_interv_si(raw(around), -1, 1);
  for (std::size_t c = 0; c < width; ++c) {
    Interval numerator;
    set_interval(raw(numerator), sum[c].backend().data(), values.quantum - bits);
    if (slack[c] != 0.0) {
      Interval error;
      set_interval(raw(error), widest.backend().data(), -bits);
      numerator += around * (error * Interval(slack[c] * inflate));
    }
    o.push_back(judged_ball(numerator / total));
  }
}

RowTruth row_truth_at(const Row& row, int bits) {
  const PrecisionScope precision(bits);
  // Softmax is shift-invariant, so subtracting the exact maximum changes nothing and every exponent is <= 0.
  const ExactScore& top = *std::max_element(row.score.begin(), row.score.end());
  std::vector<Interval> weight(row.score.size());
  Interval total = 0;
  Interval exponent;
  for (std::size_t j = 0; j < weight.size(); ++j) {
    set_interval(raw(exponent), row.score[j] - top);
    exp_interval(raw(weight[j]), raw(exponent));
    total += weight[j];
  }

  RowTruth truth;
  truth.bits = bits;
  Interval shift;
  set_interval(raw(shift), top);
  truth.lse = judged_ball(shift + log(total));
  switch (row.form) {
    case RowForm::weights:
      for (const Interval& w : weight) truth.o.push_back(judged_ball(w / total));
      break;
    case RowForm::sum:
      weighted_sums(row, weight, total, bits, truth.o);
      break;
    case RowForm::blocks: {
      const ValueMatrix::Integers& values = row.values->integers();
      for (std::size_t j = 0; j < weight.size(); ++j) {
        const Interval share = weight[j] / total;
        for (std::int64_t c = 0; c < values.width; ++c) {
          Interval value;  // 24 bits at most: exact
          set_interval(raw(value), values.integer[row.key[j] * values.width + c].backend().data(), values.quantum);
          truth.o.push_back(judged_ball(share * value));
        }
      }
      break;
    }
  }
  return truth;
}

bool all_decided(const RowTruth& truth) {
  return truth.lse.decided && std::ranges::all_of(truth.o, [](const Ball& ball) { return ball.decided; });
}

}  // namespace

RowTruth row_truth(const Row& row, PrecisionRange range) {
  for (int bits = range.first;; bits = std::min(2 * bits, range.last)) {
    RowTruth truth = row_truth_at(row, bits);
    if (bits >= range.last || all_decided(truth)) return truth;
  }
}

}  // namespace flashproof
