// The Highway forms of exp, exp_dd and the double-double operations give the scalar forms' bits, on every target that is
// compiled and that this CPU has.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "reference/oracle/fp64/vector/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/oracle/fp64/test/exp_inl_test.cc"
#include "hwy/foreach_target.h"  // before highway.h
#include "hwy/highway.h"
#include "reference/oracle/double_double/dd-inl.h"
#include "reference/oracle/fp64/vector/exp-inl.h"
#include "reference/oracle/proofs/exp_points.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// out[i] = exp(x[i]); n is a multiple of 8.
void exp_all(const double* x, std::size_t n, double* out) {
  const hn::ScalableTag<double> d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(Exp(d, hn::LoadU(d, x + i)), d, out + i);
}

/// One of the double-double functions on n pairs (x, y); operation 0 to 6 as in scalar_operation() below.
void dd_all(int operation, const double* x_hi, const double* x_lo, const double* y_hi, const double* y_lo,
            std::size_t n, double* out_hi, double* out_lo) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<hn::ScalableTag<double>>;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const DdVec<V> x = {hn::LoadU(d, x_hi + i), hn::LoadU(d, x_lo + i)};
    const DdVec<V> y = {hn::LoadU(d, y_hi + i), hn::LoadU(d, y_lo + i)};
    DdVec<V> result = x;
    switch (operation) {
      case 0:
        result = DdAdd(x, y);
        break;
      case 1:
        result = DdAddDouble(DdNeg(x), y.hi);
        break;
      case 2:
        result = DdMul(x, y);
        break;
      case 3:
        result = DdMulDouble(x, y.hi);
        break;
      case 4:
        result = DdDiv(x, y);
        break;
      case 5:
        result = DdSquare(x);
        break;
      default:
        result = ExpDd(d, x);
        break;
    }
    hn::StoreU(result.hi, d, out_hi + i);
    hn::StoreU(result.lo, d, out_lo + i);
  }
}

}  // namespace flashproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashproof {
namespace {

HWY_EXPORT(exp_all);
HWY_EXPORT(dd_all);

DD scalar_operation(int operation, DD x, DD y) {
  switch (operation) {
    case 0:
      return x + y;
    case 1:
      return -x + y.hi;
    case 2:
      return x * y;
    case 3:
      return x * y.hi;
    case 4:
      return x / y;
    case 5:
      return square(x);
    default:
      return exp_dd(x);
  }
}

/// Runs `check` once per target; the dispatcher is back to its own choice afterwards.
template <class Check>
void on_every_target(const Check& check) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  if (targets.empty()) GTEST_SKIP() << "this CPU has no AVX2 with FMA";
  for (const std::int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::GetChosenTarget().Update(target);
    check();
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::size_t different_bits(const std::vector<double>& a, const std::vector<double>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i]) ? 1 : 0;
  }
  return count;
}

std::vector<double> arguments() {
  std::vector<double> points = exp_boundary_points();
  const std::vector<double> more = exp_random_points(500'000, 4);
  points.insert(points.end(), more.begin(), more.end());
  points.resize(points.size() / 8 * 8);
  return points;
}

TEST(HighwayForms, ExpHasTheScalarBits) {
  const std::vector<double> x = arguments();
  std::vector<double> expected(x.size());
  std::transform(x.begin(), x.end(), expected.begin(), proven_exp);
  on_every_target([&] {
    std::vector<double> computed(x.size());
    HWY_DYNAMIC_DISPATCH(exp_all)(x.data(), x.size(), computed.data());
    EXPECT_EQ(different_bits(computed, expected), 0u);
  });
}

TEST(HighwayForms, DoubleDoubleHasTheScalarBits) {
  const std::vector<double> x = arguments();
  const std::size_t n = x.size();
  Random random(1, 10);
  std::vector<double> x_lo(n), y_hi(n), y_lo(n);
  for (std::size_t i = 0; i < n; ++i) {
    x_lo[i] = x[i] * random.uniform(-0x1p-54, 0x1p-54);
    y_hi[i] = random.uniform(0.5, 2);
    if (random.chance(0.5)) y_hi[i] = -y_hi[i];
    y_lo[i] = y_hi[i] * random.uniform(-0x1p-54, 0x1p-54);
  }
  for (int operation = 0; operation <= 6; ++operation) {
    SCOPED_TRACE(operation);
    std::vector<double> expected_hi(n), expected_lo(n);
    for (std::size_t i = 0; i < n; ++i) {
      const DD result = scalar_operation(operation, {x[i], x_lo[i]}, {y_hi[i], y_lo[i]});
      expected_hi[i] = result.hi;
      expected_lo[i] = result.lo;
    }
    on_every_target([&] {
      std::vector<double> hi(n), lo(n);
      HWY_DYNAMIC_DISPATCH(dd_all)
      (operation, x.data(), x_lo.data(), y_hi.data(), y_lo.data(), n, hi.data(), lo.data());
      EXPECT_EQ(different_bits(hi, expected_hi), 0u);
      EXPECT_EQ(different_bits(lo, expected_lo), 0u);
    });
  }
}

}  // namespace
}  // namespace flashproof
#endif
