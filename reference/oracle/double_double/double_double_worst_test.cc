// One constructed input per term of the radius, on which the true error comes close to what that term claims while the
// other terms are small: random data hide a missing term behind the others. `worst` is the largest error over the whole
// radius. Each case is also its own negative control: with the term's multiplier at 0 the same check must see violations.
//
// Not constructed, because they are never visible: the term kDdDivError (2^-102) of a sum L with a low word, and the
// 4u² of the products w·v (2^-104), both far below kDdExpError (2^-94) of the weights that make them non-zero. Both
// bounds are those of Joldes, Muller and Popescu (dd.h, tested in dd_test.cc), or two lines of README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/oracle/double_double/double_double_judge.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

using test::Findings;
using test::judge_rows;
// Just below one half of a unit of something: an addend that rounding drops, and that is nearly all error.
constexpr double kDropped = 1 - 0x1p-24;

/// The largest error over radius among o (or lse) of `problem`, and violations with the multiplier `term` at 0.
struct Case {
  double worst_o = 0, worst_lse = 0;
  int without = 0;

  Case(const Problem& problem, Tier tier, double DdTerms::* term) { add(problem, tier, term); }
  Case() = default;
  void add(const Problem& problem, Tier tier, double DdTerms::* term) {
    const Findings findings = judge_rows(problem, tier);
    EXPECT_EQ(findings.violations + findings.wrong_class + findings.unbounded, 0);
    worst_o = std::max(worst_o, findings.worst_o);
    worst_lse = std::max(worst_lse, findings.worst_lse);
    DdOptions options;
    options.terms.*term = 0.0;
    without += judge_rows(problem, tier, options).violations;
  }
};

/// The worst of many random inputs of one construction.
Case worst_of(int draws, Tier tier, double DdTerms::* term, const std::function<Problem(Random&)>& make) {
  Case result;
  for (int seed = 0; seed < draws; ++seed) {
    Random random(seed, 4711);
    result.add(make(random), tier, term);
  }
  return result;
}

AttentionProblem empty_attention(test::AttentionSize size) {
  const test::Draw zero = [] { return 0.0; };
  AttentionProblem p = test::attention(Format::f32, size, zero, zero, zero);
  p.scale = 1.0F;
  return p;
}

/// Two keys with nearly equal scores and opposite values: o is the difference of the weights, all of whose error shows.
AttentionProblem two_keys(std::int64_t depth) {
  AttentionProblem p = empty_attention({.sq = 1, .sk = 2, .d = depth, .dv = 1});
  p.v.set({0, 0, 0, 0}, 1.0);
  p.v.set({0, 0, 1, 0}, -1.0);
  return p;
}

AttentionProblem dropping_dot() {
  // 2^20 (1 + 2^-54 + 62 · 0.99.. · 2^-107): the low word stays at 2^-34, and each later product is dropped from it. The
  // other key's dot is 2^20 exactly. Claimed 62 · 2^-87, lost 62 · 0.99.. · 2^-87.
  AttentionProblem p = two_keys(64);
  for (std::int64_t c = 0; c < 64; ++c) {
    const double product = c == 0 ? 0x1p20 : (c == 1 ? 0x1p-34 : 0x1p-87 * kDropped);
    p.q.set({0, 0, 0, c}, c < 2 ? product : 0x1p-40);
    p.k.set({0, 0, 1, c}, c < 2 ? 1.0 : product * 0x1p40);
  }
  p.k.set({0, 0, 0, 0}, 1.0);
  return p;
}

TEST(DoubleDoubleWorst, Dot) {
  const Case worst(dropping_dot(), Tier::dd, &DdTerms::dot);
  EXPECT_GT(worst.worst_o, 0.9);
  EXPECT_GT(worst.without, 0);
  RecordProperty("ratio", std::to_string(worst.worst_o));
}

TEST(DoubleDoubleWorst, ACertificateThatIsTooGenerousIsNoticed) {
  // The low word is 2^77 quanta (2^-111) of the products.
  DdOptions options;
  options.terms.exact_below = 0x1p76;
  EXPECT_EQ(judge_rows(dropping_dot(), Tier::dd, options).violations, 0);
  options.terms.exact_below = 0x1p78;
  EXPECT_GT(judge_rows(dropping_dot(), Tier::dd, options).violations, 0);
}

TEST(DoubleDoubleWorst, Exponent) {
  // Dots of two products 2^55 apart fill both words, and the scale has 24 bits: scale·dot rounds. At 2^20, where that is
  // 2^-85 and more than the rest.
  const Case worst = worst_of(2000, Tier::dd, &DdTerms::exponent, [](Random& random) {
    AttentionProblem p = two_keys(2);
    p.scale = static_cast<float>(random.uniform(1, 2));
    const double low = random.uniform(1, 2);
    for (const std::int64_t j : {0, 1}) {
      p.k.set({0, 0, j, 0}, 1.0);
      p.k.set({0, 0, j, 1}, low * (1 + 0x1p-20 * random.uniform()));
    }
    p.q.set({0, 0, 0, 0}, std::ldexp(random.uniform(1, 2), 20));
    p.q.set({0, 0, 0, 1}, std::ldexp(random.uniform(1, 2), -35));
    return p;
  });
  EXPECT_GT(worst.worst_o, 0.25);
  EXPECT_GT(worst.without, 100);
  RecordProperty("ratio", std::to_string(worst.worst_o));
}

TEST(DoubleDoubleWorst, Exp) {
  // e^x / (1 + e^x) times 1, beside a block of zeros: relative to itself it has the error of exp_dd and of a division.
  // (1 / (1 + e^x), the other share, would show the roundings of the sum instead.) Not near 1/4: kDdExpError is 2^-94
  // where 2^-96.6 is proven and 2^-98.5 is the worst of 8·10^5 points, which allows 0.044.
  const Case worst = worst_of(3000, Tier::dd, &DdTerms::exp, [](Random& random) {
    int state = 0;
    return test::merge(
        Format::f32, 2, 1, 1, [&] { return state++ == 0 ? 0.0 : 1.0; },
        [&] { return state++ == 2 ? 0.0 : random.uniform(-100, -10); }, MergeForm::concat);
  });
  EXPECT_GT(worst.worst_o, 0x1p-6);
  EXPECT_GT(worst.without, 100);
  RecordProperty("ratio", std::to_string(worst.worst_o));
}

TEST(DoubleDoubleWorst, ExpOfDdScores) {
  // lse = log(1 + e^x), with log in double-double and e^x in doubles.
  const Case worst = worst_of(2000, Tier::dd_scores, &DdTerms::exp, [](Random& random) {
    AttentionProblem p = two_keys(2);
    p.q.set({0, 0, 0, 0}, 1.0);
    p.q.set({0, 0, 0, 1}, random.uniform(0x1p-27, 0x1p-25));
    p.k.set({0, 0, 1, 0}, random.uniform(-20, -5));
    p.k.set({0, 0, 1, 1}, random.uniform(1, 2));
    return p;
  });
  EXPECT_GT(worst.worst_lse, 0.25);
  EXPECT_GT(worst.without, 100);
  RecordProperty("ratio", std::to_string(worst.worst_lse));
}

TEST(DoubleDoubleWorst, Sum) {
  // L = 1 + 2^-54 + 4000 weights just below 2^-107: each is dropped from the low word. The weights' own errors are
  // relative to 2^-54. Claimed twice (the high and the low word of w are added one by one).
  SoftmaxProblem p = test::softmax(Format::f32, 1, 4002, [] { return -107.0 * std::log(2.0) - 1e-4; });
  p.x.set({0, 0}, 0.0);
  p.x.set({0, 1}, -54.0 * std::log(2.0) + 1e-4);
  const Case worst(p, Tier::dd, &DdTerms::sum);
  EXPECT_GT(worst.worst_o, 0.45);
  EXPECT_GT(worst.worst_lse, 0.3);
  EXPECT_GT(worst.without, 0);
  RecordProperty("ratio", std::to_string(worst.worst_o));
}

TEST(DoubleDoubleWorst, SumOfStates) {
  // States of equal m: every weight is 1, and the l are 1, 2^-54 and 4000 just below 2^-107, each dropped from the low word.
  for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
    MergeProblem p = test::merge(Format::f32, 4002, 1, 1, [] { return 0.0; }, [] { return 0.0; }, form);
    p.l = test::filled(Format::f32, {4002, 1}, [] { return 0x1p-107 * kDropped; });
    p.l.set({0, 0}, 1.0);
    p.l.set({1, 0}, 0x1p-54);
    p.o.set({0, 0, 0}, 1.0);
    const Case worst(p, Tier::dd, &DdTerms::sum);
    EXPECT_GT(worst.worst_o, 0.9);
    EXPECT_GT(worst.worst_lse, 0.9);
    EXPECT_GT(worst.without, 1);
  }
}

/// States of equal weight, o as given.
MergeProblem equal_states(const std::vector<double>& o) {
  std::size_t n = 0;
  return test::merge(
      Format::f32, static_cast<std::int64_t>(o.size()), 1, 1, [&] { return o[n++]; }, [] { return 0.0; },
      MergeForm::sum);
}

TEST(DoubleDoubleWorst, Values) {
  // 64 equal weights, so that nothing else rounds: 1 + 2^-54 + 62 values just below 2^-107. Claimed twice.
  std::vector<double> o(64, 0x1p-107 * kDropped);
  o[0] = 1.0;
  o[1] = 0x1p-54;
  const Case worst(equal_states(o), Tier::dd, &DdTerms::pv);
  EXPECT_GT(worst.worst_o, 0.45);
  EXPECT_GT(worst.without, 0);
  RecordProperty("ratio", std::to_string(worst.worst_o));
}

TEST(DoubleDoubleWorst, ValuesOfDdScores) {
  // 32 runs of 1 and 31 values just below 2^-53. Claimed 63 roundings of everything, made 31.
  AttentionProblem p = empty_attention({.sq = 1, .sk = 1024, .d = 1, .dv = 1});
  for (std::int64_t j = 0; j < 1024; ++j) p.v.set({0, 0, j, 0}, j % 32 == 0 ? 1.0 : 0x1p-53 * kDropped);
  const Case worst(p, Tier::dd_scores, &DdTerms::pv);
  EXPECT_GT(worst.worst_o, 0.45);
  EXPECT_GT(worst.without, 0);
  RecordProperty("ratio", std::to_string(worst.worst_o));
}

TEST(DoubleDoubleWorst, Division) {
  // Equal weights and values of one binade, whose sum is a double: only N / n rounds.
  const Case worst = worst_of(1000, Tier::dd, &DdTerms::division, [](Random& random) {
    std::vector<double> o(random.integer(3, 40));
    for (double& x : o) x = random.uniform(1, 2);
    return equal_states(o);
  });
  EXPECT_GT(worst.worst_o, 0.75);
  EXPECT_GT(worst.without, 100);
  RecordProperty("ratio", std::to_string(worst.worst_o));
}

/// Equal scores m: lse = m + log n.
Case worst_log(int draws, double m) {
  return worst_of(draws, Tier::dd, &DdTerms::log, [m](Random& random) {
    const double score = m * random.uniform(1, 1.5);
    return test::softmax(Format::f32, 1, random.integer(3, 200), [score] { return score; });
  });
}

TEST(DoubleDoubleWorst, LogAndItsAddition) {
  // Near 2^30 the sum m + log n rounds more than the exp_dd inside the log.
  const Case worst = worst_log(1000, 0x1p30);
  EXPECT_GT(worst.worst_lse, 0.75);
  EXPECT_GT(worst.without, 100);
  RecordProperty("ratio", std::to_string(worst.worst_lse));
}

TEST(DoubleDoubleWorst, LogAlone) {
  // m = 0. The claim is kDdExpError again, and so is the ratio.
  const Case worst = worst_log(1000, 0.0);
  EXPECT_GT(worst.worst_lse, 0x1p-8);
  EXPECT_GT(worst.without, 100);
  RecordProperty("ratio", std::to_string(worst.worst_lse));
}

}  // namespace
}  // namespace flashproof
