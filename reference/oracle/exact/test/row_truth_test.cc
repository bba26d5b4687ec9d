// Containment at deliberately low precision, where the rounding to two doubles (2^-107) does not hide the terms that are
// under test here: exp, tanh, the integer weights of the sum, the division, the logarithm.
#include "reference/oracle/exact/row_truth.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/mpfi.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <vector>

#include "reference/problem/random.h"

namespace flashproof {
namespace {

namespace mp = boost::multiprecision;
using Fine = mp::number<mp::mpfr_float_backend<300>, mp::et_off>;

struct RandomRow {
  std::vector<double> x, added, v;
  double softcap = 0.0;  // 0: the scores are x
  std::vector<ExactScore> score, capped;
  std::int64_t width = 3;
  bool sink = false;

  RandomRow(std::uint64_t seed, double sigma, bool one_signed, double cap = 0.0, bool last_is_sink = false)
      : softcap(cap), sink(last_is_sink) {
    Random random(seed, 9);
    const std::int64_t n = random.integer(2, 30);
    for (std::int64_t j = 0; j < n; ++j) {
      x.push_back(round_to(Format::f32, sigma * random.normal()));
      added.push_back(cap > 0.0 ? round_to(Format::f32, sigma * random.normal()) : 0.0);
      score.push_back(exact_score(cap > 0.0 ? added.back() : x.back()));
      if (cap > 0.0) capped.push_back(exact_score(x.back()));
      for (std::int64_t c = 0; c < width; ++c) {
        const double value = round_to(Format::f32, random.normal());
        v.push_back(one_signed ? std::fabs(value) : value);
      }
    }
  }
  std::size_t outputs() const { return x.size() - (sink ? 1 : 0); }
  Fine exact(std::size_t j) const {
    if (softcap == 0.0) return Fine(x[j]);
    return Fine(softcap) * tanh(Fine(Fine(x[j]) / Fine(softcap))) + Fine(added[j]);
  }
  RowTruth truth(RowForm form, int bits) const {
    const auto read = [this](std::size_t p, std::span<double> values) {
      for (std::size_t c = 0; c < values.size(); ++c) values[c] = v[p * values.size() + c];
    };
    return row_truth({.score = score,
                      .softcap = softcap,
                      .capped = capped,
                      .form = form,
                      .values = {.width = width, .format = Format::f32, .read = read},
                      .last_is_sink = sink},
                     bits);
  }
};

struct Violations {
  int weights = 0, sum = 0, blocks = 0, lse = 0, elements = 0;
  int all() const { return weights + sum + blocks + lse; }
};

bool outside(const Ball& ball, const Fine& exact, double shrink) {
  // 2^-900: more than the error of 300 digits (2^-996) on sums of 30 terms of ordinary size.
  return !(abs(Fine(exact - Fine(ball.hi)) - Fine(ball.lo)) <= Fine(ball.radius * shrink) + ldexp(Fine(1), -900));
}

void check(const RandomRow& r, int bits, double shrink, Violations& found) {
  Fine total = 0;
  std::vector<Fine> w;
  for (std::size_t j = 0; j < r.x.size(); ++j) {
    w.push_back(exp(r.exact(j)));
    total += w.back();
  }
  const RowTruth weights = r.truth(RowForm::weights, bits);
  const RowTruth sum = r.truth(RowForm::sum, bits);
  const RowTruth blocks = r.truth(RowForm::blocks, bits);
  ASSERT_EQ(weights.o.size(), r.outputs());
  ASSERT_EQ(sum.o.size(), static_cast<std::size_t>(r.width));
  ASSERT_EQ(blocks.o.size(), r.outputs() * r.width);
  found.lse += outside(weights.lse, log(total), shrink);
  for (std::int64_t c = 0; c < r.width; ++c) {
    Fine numerator = 0;
    for (std::size_t j = 0; j < r.outputs(); ++j) {
      const Fine term = w[j] * Fine(r.v[j * r.width + c]);
      numerator += term;
      found.blocks += outside(blocks.o[j * r.width + c], term / total, shrink);
    }
    found.sum += outside(sum.o[c], numerator / total, shrink);
  }
  for (std::size_t j = 0; j < r.outputs(); ++j) found.weights += outside(weights.o[j], w[j] / total, shrink);
  found.elements += static_cast<int>(r.outputs() * (r.width + 1) + r.width + 1);
}

Violations run(int bits, double shrink, double cap) {
  Violations found;
  for (std::uint64_t seed = 0; seed < (cap == 0.0 ? 60 : 20); ++seed) {
    for (const double sigma : {1e-3, 1.0, 30.0}) {
      for (const bool one_signed : {false, true}) {
        check(RandomRow(seed, sigma, one_signed, cap, seed % 2 == 1), bits, shrink, found);
      }
    }
  }
  return found;
}

TEST(RowTruth, ContainsAtLowPrecision) {
  for (const int bits : {20, 40, 64, 90, 200}) {
    const Violations found = run(bits, 1.0, 0.0);
    EXPECT_GT(found.elements, 10000);
    EXPECT_EQ(found.all(), 0) << bits << " bits";
  }
}

TEST(RowTruth, ContainsUnderASoftcap) {
  for (const double cap : {0.125, 20.0, 50.0, 0x1p60}) {
    for (const int bits : {20, 40, 90, 200}) {
      const Violations found = run(bits, 1.0, cap);
      EXPECT_GT(found.elements, 5000);
      EXPECT_EQ(found.all(), 0) << cap << ' ' << bits << " bits";
    }
  }
}

// Control: the radii are honest, not merely huge. A hundredth of them is too little for every kind of output.
TEST(RowTruth, AHundredthOfTheRadiusIsNoticed) {
  for (const double cap : {0.0, 20.0}) {
    const Violations found = run(40, 0.01, cap);
    EXPECT_GT(found.weights, 0);
    EXPECT_GT(found.sum, 0);
    EXPECT_GT(found.blocks, 0);
    EXPECT_GT(found.lse, 0);
  }
}

TEST(RowTruth, PrecisionTooLowForTheSoftcapHasNoRadiusAndEnoughHasOne) {
  // c·tanh(x/c) to 64 bits leaves some 2^(125−64) in an exponent: no weight is bounded by anything useful.
  const RandomRow row(1, 5e37, false, 0x1p127);
  const RowTruth coarse = row.truth(RowForm::sum, 64);
  EXPECT_EQ(coarse.o[0].radius, INFINITY);
  const RowTruth fine = row.truth(RowForm::sum, 512);
  // The scores are 1e37 apart: all the weight is on the largest.
  std::size_t top = 0;
  for (std::size_t j = 1; j < row.x.size(); ++j) top = row.exact(j) > row.exact(top) ? j : top;
  for (std::int64_t c = 0; c < row.width; ++c) {
    EXPECT_LE(fine.o[c].radius, 0x1p-100);
    EXPECT_FALSE(outside(fine.o[c], Fine(row.v[top * row.width + c]), 1.0));
  }
  EXPECT_FALSE(outside(fine.lse, row.exact(top), 1.0));
}

TEST(RowTruth, ALongRowKeepsOnlySomeIntervalsAndSaysTheSame) {
  // 20,000 equal keys: p = 1/20000, of which only the first 8,192 are kept.
  constexpr std::size_t kKeys = 20000;
  const std::vector<ExactScore> score(kKeys, exact_score(-3.0));
  const std::vector<ExactScore> capped(kKeys, exact_score(2.0));
  for (const bool softcap : {false, true}) {
    Row row{.score = score};
    if (softcap) {
      row.softcap = 4.0;
      row.capped = capped;
    }
    const RowTruth truth = row_truth(row, 128);
    const Fine exact = Fine(1) / kKeys;
    for (const std::size_t j : {std::size_t{0}, std::size_t{8191}, std::size_t{8192}, kKeys - 1}) {
      EXPECT_FALSE(outside(truth.o[j], exact, 1.0)) << j;
      EXPECT_LE(truth.o[j].radius, 0x1p-110);
    }
    EXPECT_EQ(truth.o[0].radius, truth.o[kKeys - 1].radius);
  }
}

TEST(RowTruth, AtTheLimitTheRadiusIsStillABound) {
  // Two pairs of equal keys with opposite values: o is exactly 0, which no precision can say.
  const std::vector<ExactScore> score = {exact_score(0), exact_score(0), exact_score(-1), exact_score(-1)};
  const auto read = [](std::size_t p, std::span<double> v) { v[0] = p % 2 == 0 ? 1.0 : -1.0; };
  const Row row{.score = score, .form = RowForm::sum, .values = {.width = 1, .format = Format::f32, .read = read}};
  double before = 1.0;
  for (const int bits : {64, 100, 128, 256}) {
    const RowTruth truth = row_truth(row, bits);
    EXPECT_LE(std::fabs(truth.o[0].hi + truth.o[0].lo), truth.o[0].radius) << bits;
    EXPECT_GT(truth.o[0].radius, 0.0);
    EXPECT_LT(truth.o[0].radius, 0x1p-16 * before);
    before = truth.o[0].radius;
  }
}

TEST(RowTruth, PrecisionOfTheThreadIsRestored) {
  const std::vector<ExactScore> score = {exact_score(1.0)};
  mp::mpfi_float::thread_default_precision(33);  // some caller's own setting
  row_truth({.score = score}, 128);
  EXPECT_EQ(mp::mpfi_float::thread_default_precision(), 33U);
}

}  // namespace
}  // namespace flashproof
