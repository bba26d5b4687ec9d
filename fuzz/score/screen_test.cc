// screen() against judge() and peaks(), to the bit: every family, three formats, outputs from right to absurd, contracts with
// and without exceptions, with and without tiers to climb.
#include "fuzz/score/screen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <limits>
#include <string>

#include "properties/generators/family.h"
#include "properties/generators/numbers.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::size_t kMostElements = 20'000;

int lanes_of(std::int64_t) { return 64; }

/// One declaration of a few that are unlike each other.
Arithmetic arithmetic_of(ProblemKind problem, Random& random) {
  Arithmetic a{.reduction = Reduction::two_pass};
  a.exp_error = 0x1p-23;
  a.log_error = 0x1p-23;
  a.tanh_error = 0x1p-23;
  switch (problem) {
    case ProblemKind::softmax:
      a.lanes_of = lanes_of;
      a.warps = 1;
      if (random.chance(0.5)) a.reduction = Reduction::strided_online;
      if (random.chance(0.3)) a.reduction = Reduction::unshifted;
      if (random.chance(0.3)) a.exponent = Exponent::fused;
      break;
    case ProblemKind::merge:
      a.reduction = random.chance(0.5) ? Reduction::flat : Reduction::pairwise_fold;
      a.merge_weights = a.reduction == Reduction::flat
                            ? (random.chance(0.5) ? MergeWeights::shifted : MergeWeights::unshifted)
                            : MergeWeights::stable;
      break;
    case ProblemKind::attention:
      a.reduction = Reduction::chunk_deferred;
      a.lanes = 8;
      break;
    case ProblemKind::backward:
      break;  // has a declaration of its own, and no screen
  }
  return a;
}

double of_class(std::uint8_t classes) {
  if ((classes & kNaN) != 0) return std::numeric_limits<double>::quiet_NaN();
  return (classes & kPosInf) != 0 ? kInfinity : -kInfinity;
}

/// What a kernel might have stored: the truth rounded, beside it by units, by shares of the bound, or something else.
double answer(Random& random, Format format, const Ball& truth, const ElementBound& bound, double wildness) {
  if ((truth.classes & kFinite) == 0 || (truth.classes != kFinite && random.chance(0.3))) {
    return random.chance(wildness) ? 1.0 : of_class(truth.classes);
  }
  if (!random.chance(wildness)) return truth.hi;
  const double wild[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 0.0, -truth.hi, 1e30, 1e-42};
  if (random.chance(wildness / 4)) return pick(random, wild);
  const double share = random.uniform(-1.5, 1.5) * (random.chance(0.5) ? 1 : pow2(-6));
  const double by_bound = truth.hi + share * bound.total();
  const double unit = unit_roundoff(format) * std::fabs(truth.hi) + min_subnormal(format);
  return random.chance(0.5) ? by_bound : truth.hi + static_cast<double>(random.integer(-3, 3)) * unit;
}

Output answers(Random& random, const Problem& problem, const Truth& truth, const Bound& bound) {
  constexpr double kWildness[] = {0, 0.05, 0.05, 1};
  const double wildness = pick(random, kWildness);
  const Format format = output_format(problem);
  Output output{Tensor::dense(format, {truth.rows, truth.width}), Tensor::dense(Format::f32, {truth.rows})};
  const auto fill = [&](Tensor& to, const Balls& balls, const std::vector<ElementBound>& bounds) {
    for (std::size_t i = 0; i < balls.size(); ++i) {
      to.set_bits(static_cast<std::int64_t>(i),
                  encode(to.format, answer(random, to.format, balls[i], bounds[i], wildness)));
    }
  };
  fill(output.o, truth.o, bound.o);
  fill(output.lse, truth.lse, bound.lse);
  return output;
}

void expect_same_counts(const ErrorStats& fast, const ErrorStats& slow) {
  EXPECT_EQ(fast.elements, slow.elements);
  EXPECT_EQ(fast.verdicts, slow.verdicts);
  EXPECT_EQ(fast.failures, slow.failures);
  EXPECT_EQ(fast.classes, slow.classes);
  EXPECT_EQ(fast.finite_elements, slow.finite_elements);
  EXPECT_EQ(fast.investigate, slow.investigate);
}

void expect_same_balls(const std::map<std::int64_t, Ball>& fast, const std::map<std::int64_t, Ball>& slow) {
  ASSERT_EQ(fast.size(), slow.size());
  for (const auto& [index, ball] : slow) {
    ASSERT_TRUE(fast.contains(index));
    const Ball& other = fast.at(index);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(other.hi), std::bit_cast<std::uint64_t>(ball.hi));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(other.radius), std::bit_cast<std::uint64_t>(ball.radius));
  }
}

struct Seen {
  std::uint64_t comparisons = 0, elements = 0, passes = 0, climbed = 0;
  std::array<std::uint64_t, kVerdictKinds> worst{};
  std::array<std::uint64_t, kTerms> peaks{};
};

/// Some balls wider than they need be, as wide as the bound or without an end: verdicts stay open, and rows climb.
Truth widened(Random& random, const Truth& truth, const Bound& bound) {
  Truth wide = truth;
  const auto widen = [&](Balls& balls, const std::vector<ElementBound>& bounds) {
    for (std::size_t i = 0; i < balls.size(); ++i) {
      Ball ball = balls[i];
      if (ball.classes != kFinite || !random.chance(0.05)) continue;
      ball.radius = random.chance(0.1) ? kInfinity : ball.radius + random.uniform() * bounds[i].total();
      balls.set(i, ball);
    }
  };
  widen(wide.o, bound.o);
  widen(wide.lse, bound.lse);
  return wide;
}

void expect_same(const Output& output, const Truth& truth, Oracle& oracle, const Bound& bound, const Contract& contract,
                 bool climbs, Seen& seen) {
  const NextTier next = [&](std::int64_t row, int level) { return level > 2 ? nullptr : oracle.row(row, level); };
  const NextTier none;
  const Judgement slow = judge(output, truth, bound, contract, 0, climbs ? next : none);
  const Peaks slow_peaks = peaks(output, truth, bound, slow, contract);
  const Screened fast = screen(output, truth, bound, contract, climbs ? next : none);
  EXPECT_EQ(fast.judgement.worst.kind, slow.worst.kind);
  EXPECT_EQ(fast.judgement.worst.failure, slow.worst.failure);
  EXPECT_EQ(fast.judgement.worst.detail, slow.worst.detail);
  expect_same_counts(fast.judgement.o, slow.o);
  expect_same_counts(fast.judgement.lse, slow.lse);
  expect_same_balls(fast.judgement.climbed_o, slow.climbed_o);
  expect_same_balls(fast.judgement.climbed_lse, slow.climbed_lse);
  for (std::size_t term = 0; term < kTerms; ++term) {
    const Peak &one = fast.peaks[term], &other = slow_peaks[term];
    EXPECT_EQ(std::bit_cast<std::uint64_t>(one.ratio), std::bit_cast<std::uint64_t>(other.ratio));
    EXPECT_EQ(one.part, other.part);
    EXPECT_EQ(one.row, other.row);
    EXPECT_EQ(one.column, other.column);
    seen.peaks[term] += other.ratio > 0 ? 1 : 0;
  }
  ++seen.comparisons;
  seen.elements += slow.o.elements + slow.lse.elements;
  seen.passes += slow.o.verdicts[0] + slow.lse.verdicts[0];
  seen.climbed += slow.climbed_o.size() + slow.climbed_lse.size();
  ++seen.worst[static_cast<std::size_t>(slow.worst.kind)];
}

void expect_all_occurred(const Seen& seen, std::uint64_t comparisons) {
  EXPECT_GT(seen.comparisons, comparisons);
  EXPECT_GT(seen.climbed, 0U);
  for (const VerdictKind kind : {VerdictKind::pass, VerdictKind::inconclusive, VerdictKind::fail}) {
    EXPECT_GT(seen.worst[static_cast<std::size_t>(kind)], 0U) << name(kind);
  }
}

Seen sweep(ProblemKind problem, std::uint64_t seeds) {
  constexpr const char* kFormats[] = {"f32", "f32", "f16", "bf16"};
  Seen seen;
  std::uint64_t stream = static_cast<std::uint64_t>(problem);
  for (const Family& family : families()) {
    stream += 4;
    for (std::uint64_t seed = 0; seed < seeds && family.serves(problem); ++seed) {
      Random random(seed, stream);
      const CaseSpec spec{problem, std::string(family.name), seed, {{"format", pick(random, kFormats)}}};
      Case made;
      Bound bound;
      try {
        made = make_case(spec);
        bound = compute_bound(made.problem, arithmetic_of(problem, random));
      } catch (const UsageError&) {  // not with this format, or nothing that the declaration has a meaning for
        continue;
      } catch (const std::invalid_argument&) {
        continue;
      }
      if (bound.o.size() > kMostElements) continue;
      Oracle oracle(made.problem);
      for (int round = 0; round < 3; ++round) {
        const Output output = answers(random, made.problem, oracle.truth(), bound);
        Contract contract;
        contract.refuses_beyond_range = random.chance(0.5);
        if (random.chance(0.3)) contract.overflow = Overflow::saturate;
        if (random.chance(0.2)) contract.returns = random.chance(0.5) ? Returns::o : Returns::lse;
        SCOPED_TRACE(to_string(spec) + " round " + std::to_string(round));
        const Truth truth = random.chance(0.4) ? widened(random, oracle.truth(), bound) : oracle.truth();
        expect_same(output, truth, oracle, bound, contract, random.chance(0.7), seen);
        if (testing::Test::HasFailure()) return seen;  // one is enough to read
      }
    }
  }
  std::printf(
      "%s: %lu comparisons, %lu elements, %lu pass, %lu climbed; worst: pass %lu, vacuous %lu, out of domain %lu,"
      " inconclusive %lu, fail %lu\n",
      std::string(name(problem)).c_str(), seen.comparisons, seen.elements, seen.passes, seen.climbed, seen.worst[0],
      seen.worst[1], seen.worst[2], seen.worst[4], seen.worst[5]);
  return seen;
}

TEST(Screen, softmax_is_judged_as_by_judge_and_peaks) { expect_all_occurred(sweep(ProblemKind::softmax, 12), 300); }

TEST(Screen, merges_are_judged_as_by_judge_and_peaks) { expect_all_occurred(sweep(ProblemKind::merge, 24), 500); }

TEST(Screen, attention_is_judged_as_by_judge_and_peaks) {
  const Seen seen = sweep(ProblemKind::attention, 8);
  expect_all_occurred(seen, 500);
  for (Term term{}; term < Term::dq_weights; term = static_cast<Term>(static_cast<int>(term) + 1)) {
    EXPECT_GT(seen.peaks[static_cast<std::size_t>(term)], 0U) << name(term);
  }
}

TEST(Screen, nothing_to_judge_is_no_pass) {
  const Output none{Tensor::dense(Format::f32, {0, 4}), Tensor::dense(Format::f32, {0})};
  Bound bound;
  bound.width = 4;
  EXPECT_EQ(screen(none, Truth::sized(0, 4), bound, {}).judgement.worst.kind, VerdictKind::vacuous);
  EXPECT_EQ(judge(none, Truth::sized(0, 4), bound, {}, 0).worst.kind, VerdictKind::vacuous);
}

}  // namespace
}  // namespace flashproof
