// How much of what a term of the radius of fp64 attention claims do the true errors need? For the constructed worst cases
// and negative controls. Not part of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "reference/oracle/fp64/test/attention_check.h"
#include "reference/oracle/fp64/vector/proven_exp.h"

namespace flashproof::attention64::check {

/// 50 digits: enough to see the error of a double.
using Medium =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<50>, boost::multiprecision::et_off>;
using TermOf = std::function<double&(AttentionTerms&)>;

/// share: the largest (|error| − radius without the term) / (radius with it − without it). Above 0, the exact result is
/// outside the ball without the term, whatever the other terms do; 1 is all it claims. whole: the largest |error| /
/// radius. Both may not exceed 1.
struct Reach {
  double share_o = -1, share_lse = -1, whole_o = 0, whole_lse = 0;
  std::int64_t violations = 0;              // with every term
  std::int64_t without = 0, with_half = 0;  // with the term's multiplier at 0 and at 1/2

  void add(const Ball& with, const Ball& without_it, const Ball& half, const Fine& exact, bool lse) {
    const Fine error = abs(Fine(exact - Fine(with.hi)));
    const double ratio = with.radius > 0 ? Fine(error / Fine(with.radius)).convert_to<double>() : 0.0;
    const Fine claim = Fine(with.radius) - Fine(without_it.radius);
    const double share = claim > 0 ? Fine((error - Fine(without_it.radius)) / claim).convert_to<double>() : -1.0;
    double& whole_of = lse ? whole_lse : whole_o;
    double& share_of = lse ? share_lse : share_o;
    whole_of = std::max(whole_of, ratio);
    share_of = std::max(share_of, share);
    violations += error > Fine(with.radius) ? 1 : 0;
    without += error > Fine(without_it.radius) ? 1 : 0;
    with_half += error > Fine(half.radius) ? 1 : 0;
  }
  Reach& operator+=(const Reach& other) {
    share_o = std::max(share_o, other.share_o);
    share_lse = std::max(share_lse, other.share_lse);
    whole_o = std::max(whole_o, other.whole_o);
    whole_lse = std::max(whole_lse, other.whole_lse);
    violations += other.violations;
    without += other.without;
    with_half += other.with_half;
    return *this;
  }
  void print(const char* what) const {
    std::printf("%-28s share of the term: o %6.3f, lse %6.3f; of the whole radius: o %5.3f, lse %5.3f\n", what, share_o,
                share_lse, whole_o, whole_lse);
  }
};

/// `rows` of the problem, `exact` by those rows.
inline Reach reach(const AttentionProblem& problem, const TermOf& term, const AttentionOptions& options,
                   const ReferenceResult<Fine>& exact, const std::vector<std::int64_t>& rows = {}) {
  const auto scaled = [&](double factor) {
    AttentionOptions changed = options;
    term(changed.terms) *= factor;
    return run_tier0(problem, changed, 1, rows).truth;
  };
  const Truth with = scaled(1), without = scaled(0), half = scaled(0.5);
  Reach result;
  for (std::size_t i = 0; i < exact.o.size(); ++i) result.add(with.o[i], without.o[i], half.o[i], exact.o[i], false);
  for (std::size_t i = 0; i < exact.lse.size(); ++i) {
    result.add(with.lse[i], without.lse[i], half.lse[i], exact.lse[i], true);
  }
  return result;
}

inline Reach reach(const AttentionProblem& problem, const TermOf& term, const AttentionOptions& options = {}) {
  return reach(problem, term, options, reference<Fine>(problem));
}

// Constructions.

/// Just below 1: what is just below u of something that it is added to is dropped, and nearly all of u is lost.
inline constexpr double kBelowOne = 1 - 0x1p-11;

inline AttentionProblem zeros(test::AttentionSize size) {
  const test::Draw zero = [] { return 0.0; };
  AttentionProblem p = test::attention(Format::f32, size, zero, zero, zero);
  p.scale = 1.0F;
  return p;
}

/// Two visible keys, 31 and 32, alone in their chunks, so that no sum but theirs rounds. Head h has the scores 0 and x_h.
struct Pair {
  static constexpr std::int64_t kHeads = 4000;
  AttentionProblem p = zeros({.q_heads = kHeads, .sq = 1, .sk = 33, .d = 1, .dv = 16});
  AttentionOptions options;

  Pair(Random& random, double low, double high) {
    p.window_left = 1;
    p.k.set({0, 0, 32, 0}, 1.0);
    for (std::int64_t h = 0; h < kHeads; ++h) p.q.set({0, h, 0, 0}, random.uniform(low, high));
    options.chunk = 32;
  }
};

/// |proven_exp(x) / e^x − 1|.
inline double exp_error(double x) {
  const Medium exact = exp(Medium(x));
  return Medium(abs(Medium(Medium(proven_exp(x)) / exact - 1))).convert_to<double>();
}

/// Of some f32 numbers from [low, high], the x for which proven_exp errs most at argument(x).
template <class Argument>
double worst_exponent(Random& random, double low, double high, int candidates, Argument argument) {
  double worst = -1, x = 0;
  for (int n = 0; n < candidates; ++n) {
    const auto candidate = static_cast<double>(static_cast<float>(random.uniform(low, high)));
    const double error = exp_error(argument(candidate));
    if (error > worst) worst = error, x = candidate;
  }
  return x;
}
inline double worst_exponent(Random& random, double low, double high, int candidates) {
  return worst_exponent(random, low, high, candidates, [](double x) { return x; });
}

/// Keys of the scores given, q = 1.
inline AttentionProblem by_scores(const std::vector<double>& score) {
  AttentionProblem p = zeros({.sq = 1, .sk = static_cast<std::int64_t>(score.size()), .d = 1, .dv = 1});
  p.q.set({0, 0, 0, 0}, 1.0);
  for (std::size_t j = 0; j < score.size(); ++j) p.k.set({0, 0, static_cast<std::int64_t>(j), 0}, score[j]);
  return p;
}
inline constexpr double kNoWeight = -1e4;

/// The f32 next to log(2^-53): e^x = u (1 + δ), |δ| < 2^-17, δ > 0 or < 0.
inline double near_unit(bool above) {
  const double x = -53 * std::log(2.0);
  const auto near = static_cast<float>(x);
  if (above) return near > x ? near : std::nextafter(near, 0.0F);
  return near < x ? near : std::nextafter(near, -100.0F);
}

/// 512 keys: a 1 in lane 0, and weights just above u that reach it one by one, 15 along the lane and 5 in the tree. Each
/// addition rounds up. h_L = 20.
inline AttentionProblem sum_that_rounds_up() {
  std::vector<double> score(512, kNoWeight);
  for (std::size_t block = 1; block < 16; ++block) score[block * 32] = near_unit(true);
  for (const std::size_t lane : {1, 2, 4, 8, 16}) score[lane] = near_unit(true);
  score[0] = 0.0;
  return by_scores(score);
}

inline void expect_at_least(double share, const Reach& found, double needed) {
  EXPECT_EQ(found.violations, 0);
  EXPECT_GE(share, needed);
  EXPECT_LE(share, 1.0);
  EXPECT_GT(found.without, 0);
  if (needed > 0.5) {
    EXPECT_GT(found.with_half, 0);
  }
}

/// `share`: of the term; `whole`: of the radius with all of its terms.
inline void expect_o(const char* what, const Reach& found, double share, double whole = -1) {
  found.print(what);
  expect_at_least(found.share_o, found, share);
  EXPECT_GE(found.whole_o, whole);
}
inline void expect_lse(const char* what, const Reach& found, double share, double whole = -1) {
  found.print(what);
  expect_at_least(found.share_lse, found, share);
  EXPECT_GE(found.whole_lse, whole);
}

// The terms by name.
inline double& scores(AttentionTerms& t) { return t.scores; }
inline double& argument(AttentionTerms& t) { return t.argument; }
inline double& softcap(AttentionTerms& t) { return t.softcap; }
inline double& exp_of_weight(AttentionTerms& t) { return t.exp; }
inline double& vanished(AttentionTerms& t) { return t.vanished; }
inline double& sum(AttentionTerms& t) { return t.sum; }
inline double& values(AttentionTerms& t) { return t.values; }
inline double& chunks(AttentionTerms& t) { return t.chunks; }
inline double& rescale(AttentionTerms& t) { return t.rescale; }
inline double& output(AttentionTerms& t) { return t.output; }
inline double& log_residual(AttentionTerms& t) { return t.log.residual; }
inline double& log_exp(AttentionTerms& t) { return t.log.exp; }
inline double& log_sum(AttentionTerms& t) { return t.log.sum; }
inline double& shift(AttentionTerms& t) { return t.shift; }

}  // namespace flashproof::attention64::check
