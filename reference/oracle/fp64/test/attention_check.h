// Runs the fp64 tier of attention on a problem and holds its balls against reference<Real> at 300 digits, whose own error
// is derived in reference_error.h. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <boost/multiprecision/mpfr.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "reference/oracle/fp64/attention.h"
#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/reference_error.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof::attention64::check {

using Fine =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<300>, boost::multiprecision::et_off>;
inline constexpr int kFineBits = 990;  // 300 digits are 996 bits or more

struct Tier0 {
  Truth truth;
  std::vector<RowCause> cause;
};

inline Tier0 run_tier0(const AttentionProblem& problem, const AttentionOptions& options = {}, int threads = 1,
                       std::vector<std::int64_t> rows = {}) {
  const OutputShape shape = output_shape(Problem(problem));
  if (rows.empty()) {
    rows.resize(static_cast<std::size_t>(shape.rows));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
  }
  Tier0 result;
  result.truth = Truth::sized(static_cast<std::int64_t>(rows.size()), shape.width);
  result.cause.resize(rows.size());
  fp64_attention(problem, rows, Threads(threads), result.truth, result.cause, options);
  return result;
}

struct EnclosureCounts {
  std::int64_t elements = 0, violations = 0, unbounded = 0, wrong_class = 0;
  std::int64_t wide = 0;  // radius above 2^-36 of the largest |v| (o), or of max(1, |lse|)

  EnclosureCounts& operator+=(const EnclosureCounts& other) {
    elements += other.elements;
    violations += other.violations;
    unbounded += other.unbounded;
    wrong_class += other.wrong_class;
    wide += other.wide;
    return *this;
  }
};

inline void judge(const Ball& ball, const Fine& exact, const Fine& tolerance, double scale, EnclosureCounts& tally) {
  namespace mp = boost::multiprecision;
  ++tally.elements;
  if (mp::isinf(exact)) {  // lse of a row without keys
    if (ball.classes != kNegInf) ++tally.wrong_class;
    return;
  }
  if (ball.classes != kFinite || !std::isfinite(ball.hi)) ++tally.wrong_class;
  if (ball.radius == std::numeric_limits<double>::infinity()) {
    ++tally.unbounded;
    return;
  }
  const Fine distance = abs(Fine(exact - Fine(ball.hi)) - Fine(ball.lo));
  if (!(distance <= Fine(ball.radius) + tolerance)) ++tally.violations;
  if (ball.radius > 0x1p-36 * scale) ++tally.wide;
}

inline EnclosureCounts check_tier0(const AttentionProblem& problem, const AttentionOptions& options = {}) {
  const Tier0 tier = run_tier0(problem, options);
  const ReferenceResult<Fine> exact = reference<Fine>(problem);
  const auto error = test::reference_error<Fine>(Problem(problem), ldexp(Fine(1), -kFineBits), 2.0);
  EXPECT_TRUE(error.meaningful);
  EnclosureCounts tally;
  for (std::size_t i = 0; i < exact.o.size(); ++i) {
    judge(tier.truth.o[i], exact.o[i], error.o, test::sizes(Problem(problem)).largest_value, tally);
  }
  for (std::size_t i = 0; i < exact.lse.size(); ++i) {
    const Ball ball = tier.truth.lse[i];
    judge(ball, exact.lse[i], error.lse, std::max(1.0, std::fabs(ball.hi)), tally);
  }
  return tally;
}

}  // namespace flashproof::attention64::check
