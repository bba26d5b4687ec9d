// One row of exact scores: the largest score, the weights w_j = e^(x_j − m) with their radii ρ_j, and the sums. Shared by
// softmax and merge. Derivation: README.md, "Softmax". To be included from a file that foreach_target.h compiles once
// per target; every target computes the same bits, because all sums run over 8 virtual lanes in one fixed tree.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "reference/oracle/fp64/row_sums.h"
#include "reference/oracle/fp64/vector/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::rows64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<double, kVirtualLanes>;
inline constexpr std::int64_t kParts = kVirtualLanes / static_cast<std::int64_t>(hn::MaxLanes(Lane()));
inline constexpr std::int64_t kLanes = kVirtualLanes / kParts;

/// The eight virtual lanes.
struct Eight {
  hn::Vec<Lane> part[kParts];
};

HWY_INLINE Eight load_eight(const double* from) {
  Eight result;
  for (std::int64_t p = 0; p < kParts; ++p) result.part[p] = hn::LoadU(Lane(), from + p * kLanes);
  return result;
}
HWY_INLINE void store_eight(const Eight& x, double* to) {
  for (std::int64_t p = 0; p < kParts; ++p) hn::StoreU(x.part[p], Lane(), to + p * kLanes);
}
HWY_INLINE Eight set_eight(double x) {
  Eight result;
  for (std::int64_t p = 0; p < kParts; ++p) result.part[p] = hn::Set(Lane(), x);
  return result;
}
HWY_INLINE void add_eight(Eight& x, const Eight& y) {
  for (std::int64_t p = 0; p < kParts; ++p) x.part[p] = hn::Add(x.part[p], y.part[p]);
}

/// Folds n decoded scores into the maximum. Poisoned by a NaN or +inf.
HWY_INLINE void scan_scores(const double* x, std::int64_t n, RowSums& row) {
  const Lane d;
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  Eight top = set_eight(-std::numeric_limits<double>::infinity());
  auto finite = hn::Lt(hn::Zero(d), infinity);
  const auto scan = [&](const double* from) HWY_ATTR {
    const Eight v = load_eight(from);
    for (std::int64_t p = 0; p < kParts; ++p) {
      finite = hn::And(finite, hn::Lt(v.part[p], infinity));
      top.part[p] = hn::Max(top.part[p], v.part[p]);
    }
  };
  std::int64_t j = 0;
  for (; j + kVirtualLanes <= n; j += kVirtualLanes) scan(x + j);
  if (j < n) {
    double rest[kVirtualLanes];
    std::fill(rest, rest + kVirtualLanes, -std::numeric_limits<double>::infinity());
    std::copy(x + j, x + n, rest);
    scan(rest);
  }
  if (!hn::AllTrue(d, finite)) row.poisoned = true;
  double lane[kVirtualLanes];
  store_eight(top, lane);
  row.m = std::max(row.m, *std::max_element(lane, lane + kVirtualLanes));
}

/// A radius and what underflows on the way to it, which is subnormal. No FMA: with a subnormal operand it takes many a processor a
/// hundred cycles more; a sum takes none more.
HWY_INLINE hn::Vec<Lane> add_floor(hn::Vec<Lane> radius, hn::Vec<Lane> floor) { return hn::Add(radius, floor); }

/// Two sums over the same tree.
struct Sums {
  Eight total, radius;

  static Sums zero() { return {set_eight(0.0), set_eight(0.0)}; }
  HWY_INLINE void add(const Sums& other) {
    add_eight(total, other.total);
    add_eight(radius, other.radius);
  }
};

/// Adds up the blocks of a row as a binary counter does: two sums of 2^k blocks make one of 2^(k + 1).
class BlockTree {
 public:
  HWY_INLINE void push(Sums sums) {
    int level = 0;
    for (std::int64_t rest = blocks_; (rest & 1) != 0; rest >>= 1) sums.add(level_[level++]);
    level_[level] = sums;
    ++blocks_;
  }
  HWY_INLINE Sums total() const {
    Sums sums = Sums::zero();
    int level = 0;
    for (std::int64_t rest = blocks_; rest != 0; rest >>= 1, ++level) {
      if ((rest & 1) != 0) sums.add(level_[level]);
    }
    return sums;
  }

 private:
  std::int64_t blocks_ = 0;
  Sums level_[kTreeLevels];
};

/// Weights of the scores x[0 .. n) against row.m, which is finite: w may be x itself. Fills the rest of `row`.
HWY_INLINE void weigh(const double* x, std::int64_t n, const SoftmaxTerms& terms, double* w, double* radius,
                      RowSums& row) {
  const Lane d;
  const auto m = hn::Set(d, row.m);
  const auto minus_m = hn::Set(d, -row.m);
  const auto lowest = hn::Set(d, kExpLowest);
  const auto hidden = hn::Set(d, -std::numeric_limits<double>::infinity());
  const auto score_term = hn::Set(d, terms.score);
  const auto exp_term = hn::Set(d, terms.exp * kExpError);
  const auto tiny = hn::Set(d, kTiny);
  const auto underflow_term = hn::Set(d, terms.underflow * kUnderflow);
  auto largest_error = hn::Zero(d);
  std::int64_t weighted = 0;

  Sums sums = Sums::zero();
  const auto step = [&](const double* scores, double* weights, double* radii) HWY_ATTR {
    const Eight score = load_eight(scores);
    Eight weight, radius_of_weight;
    for (std::int64_t p = 0; p < kParts; ++p) {
      const auto value = score.part[p];
      // TwoSum of value and −m: exponent + residual is the exact difference (NaN for a hidden key, masked below).
      const auto exponent = hn::Sub(value, m);
      const auto m_part = hn::Sub(exponent, value);
      const auto value_part = hn::Sub(exponent, m_part);
      const auto residual = hn::Add(hn::Sub(value, value_part), hn::Sub(minus_m, m_part));
      const auto in_range = hn::Ge(exponent, lowest);
      const auto error = hn::IfThenElseZero(in_range, hn::Mul(hn::Abs(residual), score_term));
      const auto w_part = hn::IfThenElseZero(in_range, flashproof::HWY_NAMESPACE::Exp(d, hn::Max(exponent, lowest)));
      const auto rounded = hn::Ne(exponent, hn::Zero(d));  // e^0 is 1
      const auto computed = hn::IfThenElseZero(rounded, add_floor(hn::Mul(w_part, hn::Add(error, exp_term)), tiny));
      const auto below = hn::IfThenElseZero(hn::Gt(value, hidden), underflow_term);
      weight.part[p] = w_part;
      radius_of_weight.part[p] = hn::IfThenElse(in_range, computed, below);
      largest_error = hn::Max(largest_error, error);
      weighted += static_cast<std::int64_t>(hn::CountTrue(d, in_range));
      sums.total.part[p] = hn::Add(sums.total.part[p], w_part);
      sums.radius.part[p] = hn::Add(sums.radius.part[p], radius_of_weight.part[p]);
    }
    store_eight(weight, weights);
    store_eight(radius_of_weight, radii);
  };

  BlockTree tree;
  std::int64_t j = 0;
  while (j < n) {
    sums = Sums::zero();
    const std::int64_t full = std::min(n - j, kBlock) / kVirtualLanes;
    for (std::int64_t i = 0; i < full; ++i, j += kVirtualLanes) step(x + j, w + j, radius + j);
    if (full < kBlock / kVirtualLanes && j < n) {
      double rest[3][kVirtualLanes];
      std::fill(rest[0], rest[0] + kVirtualLanes, -std::numeric_limits<double>::infinity());
      std::copy(x + j, x + n, rest[0]);
      step(rest[0], rest[1], rest[2]);
      std::copy(rest[1], rest[1] + (n - j), w + j);
      std::copy(rest[2], rest[2] + (n - j), radius + j);
      j = n;
    }
    tree.push(sums);
  }

  const Sums all = tree.total();
  double lane[3][kVirtualLanes];
  store_eight(all.total, lane[0]);
  store_eight(all.radius, lane[1]);
  for (std::int64_t half = kVirtualLanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < 2; ++k) {
      for (std::int64_t i = 0; i < half; ++i) lane[k][i] += lane[k][i + half];
    }
  }
  hn::StoreU(largest_error, d, lane[2]);
  row.weighted = weighted;
  row.total = lane[0][0];
  row.score_error = *std::max_element(lane[2], lane[2] + kLanes);
  row.finish(n, lane[1][0], terms);
}

/// Weights and their radii to p_j = w_j / L and theirs, in place. A weight is 0 or at least e^-707; a radius of 0 says that
/// it is exact.
HWY_INLINE void normalize(double* w, double* radius, std::int64_t n, const RowSums& row, const SoftmaxTerms& terms) {
  const Lane d;
  const auto one = hn::Set(d, 1.0);
  const auto total = hn::Set(d, row.total);
  const auto total_radius = hn::Set(d, row.total_radius);
  const auto inverse = hn::Set(d, 1 / row.total);
  const auto inflated = hn::Set(d, 1 / row.total * kSlack);
  const auto quotient_term = hn::Set(d, terms.quotient);
  const auto tiny = hn::Set(d, kTiny);
  const auto step = [&](double* weights, double* radii) HWY_ATTR {
    for (std::int64_t p = 0; p < kParts; ++p) {
      const auto weight = hn::LoadU(d, weights + p * kLanes);
      const auto rho = hn::LoadU(d, radii + p * kLanes);
      const auto share = hn::Mul(weight, inverse);
      const auto quotient = hn::Mul(hn::Abs(hn::NegMulAdd(share, total, weight)), quotient_term);
      const auto own = hn::MulAdd(rho, hn::Abs(hn::Sub(one, share)), quotient);
      const auto all = hn::MulAdd(share, hn::Sub(total_radius, rho), own);
      const auto least = hn::IfThenElseZero(hn::Gt(rho, hn::Zero(d)), tiny);
      hn::StoreU(share, d, weights + p * kLanes);
      hn::StoreU(add_floor(hn::Mul(all, inflated), least), d, radii + p * kLanes);
    }
  };
  std::int64_t j = 0;
  for (; j + kVirtualLanes <= n; j += kVirtualLanes) step(w + j, radius + j);
  if (j < n) {
    double rest[2][kVirtualLanes] = {};
    std::copy(w + j, w + n, rest[0]);
    std::copy(radius + j, radius + n, rest[1]);
    step(rest[0], rest[1]);
    std::copy(rest[0], rest[0] + (n - j), w + j);
    std::copy(rest[1], rest[1] + (n - j), radius + j);
  }
}

}  // namespace flashproof::rows64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
