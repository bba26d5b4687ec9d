// The judge of the tests of softmax and merge: does every ball contain the exact result? Not part of the library.
//
// The exact result is reference<Fine> at 100 digits (332 bits or more). Its scores are inputs, and so is their maximum m:
// x − m spans 2^-149 .. 2^129, 278 bits and the 24 of a significand, so it is exact. With U = 2^-332, exp and log within
// 2U, n keys and first-order sums doubled:
//   p        2·(n + 6)·U relative (weight 2, sum n + 1, division 1, one more per key for the slack)
//   o (sum)  2·(2n + 8)·U·max|v|, which bounds Σ p |v|;  o (concat) 2·(n + 8)·U relative
//   lse      2·U·(n + 4 + |m| + |log L|)
// Un-normalised states: v_s is O_s / l_s, and three roundings more per state; |log L| is larger by |log l_s| < 104.
#pragma once

#include <gtest/gtest.h>

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <numeric>
#include <string>

#include "reference/oracle/fp64/merge.h"
#include "reference/oracle/fp64/softmax.h"
#include "reference/oracle/fp64/vector/highway_targets.h"
#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/reference_error.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof::test {

using Fine =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<100>, boost::multiprecision::et_off>;

struct Certified {
  Truth truth;
  std::vector<RowCause> cause;
};

inline std::vector<std::int64_t> all_rows(std::int64_t rows) {
  std::vector<std::int64_t> list(rows);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

inline Certified certify(const SoftmaxProblem& problem, const SoftmaxTerms& terms = {}, int threads = 1) {
  const std::vector<std::int64_t> rows = all_rows(problem.x.shape[0]);
  Certified result{Truth::sized(problem.x.shape[0], problem.x.shape[1], Tier::fp64),
                   std::vector<RowCause>(rows.size())};
  fp64_softmax(problem, rows, Threads(threads), result.truth, result.cause, terms);
  return result;
}
inline Certified certify(const MergeProblem& problem, const MergeTerms& terms = {}, int threads = 1) {
  const OutputShape shape = output_shape(problem);
  const std::vector<std::int64_t> rows = all_rows(shape.rows);
  Certified result{Truth::sized(shape.rows, shape.width, Tier::fp64), std::vector<RowCause>(rows.size())};
  fp64_merge(problem, rows, Threads(threads), result.truth, result.cause, terms);
  return result;
}

struct EnclosureCounts {
  std::int64_t elements = 0;
  std::int64_t violations = 0;
  std::int64_t wrong_class = 0;
  double worst = 0;  // largest |error| / radius
};

inline void judge(const Ball& ball, const Fine& exact, const Fine& tolerance, EnclosureCounts& tally) {
  ++tally.elements;
  if (isinf(exact)) {  // lse of a row without keys
    if (ball.classes != kNegInf) ++tally.wrong_class;
    return;
  }
  if (ball.classes != kFinite) ++tally.wrong_class;
  const Fine error = abs(Fine(exact - Fine(ball.hi)) - Fine(ball.lo));
  if (!(error <= Fine(ball.radius) + tolerance)) ++tally.violations;
  if (ball.radius > 0) tally.worst = std::max(tally.worst, Fine(error / Fine(ball.radius)).convert_to<double>());
}

inline double largest_finite(const Tensor& tensor) {
  double result = 0;
  const auto count = static_cast<std::int64_t>(tensor.storage.size()) / bytes_of(tensor.format);
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = std::fabs(decode(tensor.format, tensor.bits(i)));
    if (std::isfinite(x)) result = std::max(result, x);
  }
  return result;
}

inline EnclosureCounts check(const SoftmaxProblem& problem, const Truth& truth) {
  const ReferenceResult<Fine> exact = reference<Fine>(problem);
  const Fine unit = ldexp(Fine(1), -332);
  const Fine n = static_cast<double>(problem.x.shape[1]);
  const Fine lse_scale = largest_finite(problem.x) + 30.0;
  EnclosureCounts tally;
  for (std::size_t i = 0; i < exact.o.size(); ++i)
    judge(truth.o[i], exact.o[i], 2 * (n + 6) * unit * exact.o[i], tally);
  for (std::size_t r = 0; r < exact.lse.size(); ++r) {
    judge(truth.lse[r], exact.lse[r], 2 * unit * (n + 4 + lse_scale), tally);
  }
  return tally;
}

inline EnclosureCounts check(const MergeProblem& problem, const Truth& truth) {
  const ReferenceResult<Fine> exact = reference<Fine>(problem);
  const Fine unit = ldexp(Fine(1), -332);
  const Fine n = static_cast<double>(problem.o.shape[0]) * (problem.has_l() ? 4 : 1);
  const Fine lse_scale = largest_finite(problem.lse) + 134.0;
  const Fine o_scale = 2 * (2 * n + 8) * unit * sizes(problem).largest_value;
  EnclosureCounts tally;
  for (std::size_t i = 0; i < exact.o.size(); ++i) {
    const bool sum = problem.form == MergeForm::sum;
    judge(truth.o[i], exact.o[i], sum ? o_scale : Fine(2 * (n + 8) * unit * abs(exact.o[i])), tally);
  }
  for (std::size_t r = 0; r < exact.lse.size(); ++r) {
    judge(truth.lse[r], exact.lse[r], 2 * unit * (n + 4 + lse_scale), tally);
  }
  return tally;
}

/// How much of what a term claims the errors need: the largest (|error| − radius without the term) / (radius with it −
/// without it). Above 0 the truth is not contained without the term, whatever the other terms do; 1 is all it claims.
struct Reach {
  double o = -1, lse = -1;
  std::int64_t violations = 0;  // with the term
};

inline double share_needed(const Ball& with, const Ball& without, const Fine& exact) {
  const Fine claim = Fine(with.radius) - Fine(without.radius);
  if (!(claim > 0)) return -1;
  return Fine((abs(Fine(exact - Fine(with.hi))) - Fine(without.radius)) / claim).convert_to<double>();
}

template <class SomeProblem, class Terms>
Reach reach(const SomeProblem& problem, const Terms& dropped) {
  const Truth with = certify(problem).truth;
  const Truth without = certify(problem, dropped).truth;
  const ReferenceResult<Fine> exact = reference<Fine>(problem);
  Reach result;
  result.violations = check(problem, with).violations;
  for (std::size_t i = 0; i < exact.o.size(); ++i) {
    result.o = std::max(result.o, share_needed(with.o[i], without.o[i], exact.o[i]));
  }
  for (std::size_t r = 0; r < exact.lse.size(); ++r) {
    result.lse = std::max(result.lse, share_needed(with.lse[r], without.lse[r], exact.lse[r]));
  }
  return result;
}

/// With every term the truth is inside, and it needs more than `least` of the term that was dropped.
inline void expect_needed(const Reach& found, double share, double least, double most = 1.0) {
  EXPECT_EQ(found.violations, 0);
  EXPECT_GT(share, least);
  EXPECT_LE(share, most);
}

/// Same bits, in every column.
inline bool same_bits(const Balls& a, const Balls& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Ball x = a[i], y = b[i];
    if (std::bit_cast<std::uint64_t>(x.hi) != std::bit_cast<std::uint64_t>(y.hi) || x.lo != y.lo ||
        std::bit_cast<std::uint64_t>(x.radius) != std::bit_cast<std::uint64_t>(y.radius) || x.classes != y.classes) {
      return false;
    }
  }
  return true;
}
inline bool same_bits(const Truth& a, const Truth& b) {
  return same_bits(a.o, b.o) && same_bits(a.lse, b.lse) && a.tier == b.tier;
}

/// Calls body(name) with the dispatch limited to one vector unit at a time, of those this CPU has. Returns how many.
template <class Body>
int for_each_target(const Body& body) {
  int count = 0;
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : {std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}}) {
    if ((supported & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(std::string(hwy::TargetName(target)));
    ++count;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return count;
}

}  // namespace flashproof::test
