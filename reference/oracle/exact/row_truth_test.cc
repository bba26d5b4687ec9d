// The same containment at deliberately low precision, where the rounding to two doubles (2^-107) does not hide the
// terms that are under test here: exp, the integer weights of the sum, the division, the logarithm.
#include "reference/oracle/row_truth.h"

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
  std::vector<double> x, v;
  std::vector<ExactScore> score;
  std::vector<std::int64_t> key;
  std::int64_t width = 3;

  RandomRow(std::uint64_t seed, double sigma, bool one_signed) {
    Random random(seed, 9);
    const std::int64_t n = random.integer(2, 30);
    for (std::int64_t j = 0; j < n; ++j) {
      x.push_back(round_to(Format::f32, sigma * random.normal()));
      score.push_back(exact_score(x.back()));
      key.push_back(j);
      for (std::int64_t c = 0; c < width; ++c) {
        const double value = round_to(Format::f32, random.normal());
        v.push_back(one_signed ? std::fabs(value) : value);
      }
    }
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
  for (const double x : r.x) {
    w.push_back(exp(Fine(x)));
    total += w.back();
  }
  const ValueMatrix values(r.v, r.width);
  const PrecisionRange range{.first = bits, .last = bits};
  Row row{.score = r.score, .key = r.key, .values = &values, .form = RowForm::weights};
  const RowTruth weights = row_truth(row, range);
  row.form = RowForm::sum;
  const RowTruth sum = row_truth(row, range);
  row.form = RowForm::blocks;
  const RowTruth blocks = row_truth(row, range);
  EXPECT_EQ(weights.bits, bits);
  found.lse += outside(weights.lse, log(total), shrink);
  for (std::int64_t c = 0; c < r.width; ++c) {
    Fine numerator = 0;
    for (std::size_t j = 0; j < w.size(); ++j) {
      const Fine term = w[j] * Fine(r.v[j * r.width + c]);
      numerator += term;
      found.blocks += outside(blocks.o[j * r.width + c], term / total, shrink);
    }
    found.sum += outside(sum.o[c], numerator / total, shrink);
  }
  for (std::size_t j = 0; j < w.size(); ++j) found.weights += outside(weights.o[j], w[j] / total, shrink);
  found.elements += static_cast<int>(w.size() * (r.width + 1) + r.width + 1);
}

Violations run(int bits, double shrink) {
  Violations found;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const double sigma : {1e-3, 1.0, 30.0}) {
      for (const bool one_signed : {false, true}) check(RandomRow(seed, sigma, one_signed), bits, shrink, found);
    }
  }
  return found;
}

TEST(RowTruth, ContainsAtLowPrecision) {
  for (const int bits : {20, 40, 64, 90, 200}) {
    const Violations found = run(bits, 1.0);
    EXPECT_GT(found.elements, 10000);
    EXPECT_EQ(found.all(), 0) << bits << " bits";
  }
}

// Control: the radii are honest, not merely huge. A hundredth of them is too little for every kind of output.
TEST(RowTruth, AHundredthOfTheRadiusIsNoticed) {
  const Violations found = run(40, 0.01);
  EXPECT_GT(found.weights, 0);
  EXPECT_GT(found.sum, 0);
  EXPECT_GT(found.blocks, 0);
  EXPECT_GT(found.lse, 0);
}

TEST(RowTruth, PrecisionOfTheThreadIsRestored) {
  const std::vector<ExactScore> score = {exact_score(1.0)};
  const std::vector<std::int64_t> key = {0};
  mp::mpfi_float::thread_default_precision(33);  // some caller's own setting
  row_truth({.score = score, .key = key});
  EXPECT_EQ(mp::mpfi_float::thread_default_precision(), 33U);
}

}  // namespace
}  // namespace flashproof
