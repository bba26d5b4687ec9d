// Problems built so that one term of the radius is needed nearly in full: random ones never come near, so they cannot see
// whether a term is there. Every other term is 0 where what it stands for does not occur in the problem.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/oracle/fp64/test/attention_check.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using namespace attention64::check;

/// A little more than half an ulp of 1: 1 + this rounds up, by almost 2^-53.
constexpr double kHalfUlp = 0x1p-53 * (1 + 0x1p-20);

AttentionProblem zeros(std::int64_t keys, std::int64_t depth, std::int64_t width) {
  const auto zero = [] { return 0.0; };
  return test::attention(Format::f32, {.sq = 1, .sk = keys, .d = depth, .dv = width}, zero, zero, zero);
}

/// Only the terms that the problem exercises.
AttentionOptions nothing() {
  AttentionOptions options;
  AttentionTerms& t = options.terms;
  t.scores = t.argument = t.softcap = t.exp = t.vanished = t.sum = t.values = t.chunks = t.rescale = t.output = 0;
  return options;
}

Fine error_of(const Ball& ball, const Fine& exact) { return abs(Fine(exact - Fine(ball.hi))); }

/// error / radius: above 1 the truth is not contained, near 1 nothing is wasted.
double reach(const Ball& ball, const Fine& exact) {
  return Fine(error_of(ball, exact) / Fine(ball.radius)).convert_to<double>();
}

/// Of a term alone, all others 0: all of it suffices, more than `least` is needed, and `less` of it does not suffice.
void expect_needed(const AttentionProblem& p, Part part, double AttentionTerms::* term, double least,
                   AttentionOptions options = nothing(), double less = 0.5) {
  const ReferenceResult<Fine> exact = reference<Fine>(p);
  const auto reached = [&](double share) {
    options.terms.*term = share;
    const Truth truth = run_tier0(p, options).truth;
    return reach(truth[part][0], part == Part::lse ? exact.lse[0] : exact.o[0]);
  };
  const double all = reached(1);
  EXPECT_GT(all, least);
  EXPECT_LE(all, 1.0);
  EXPECT_GT(reached(less), 1.0);
}

TEST(Fp64AttentionTerm, Scores) {
  // 1 + 31 times half an ulp in the first accumulator, one more from the second: 32 roundings, h_D = 32.
  AttentionProblem p = zeros(1, 64, 1);
  for (std::int64_t l = 0; l <= 32; ++l) {
    p.q.set({0, 0, 0, l}, l == 0 ? 1.0 : 0x1p-27);
    p.k.set({0, 0, 0, l}, l == 0 ? 1.0 : 0x1p-26 * (1 + 0x1p-20));
  }
  expect_needed(p, Part::lse, &AttentionTerms::scores, 0.8);  // the certified log has its own 2 u
}

TEST(Fp64AttentionTerm, Values) {
  // All weights are 1 and L = 512 is exact. N: 31 roundings in the first accumulator, then one for each of 15 more.
  AttentionProblem p = zeros(512, 1, 1);
  for (std::int64_t j = 0; j < 512; ++j) p.v.set({0, 0, j, 0}, j < 32 || j % 32 == 0 ? kHalfUlp : 0.0);
  p.v.set({0, 0, 0, 0}, 1.0);
  expect_needed(p, Part::o, &AttentionTerms::values, 0.9);
}

TEST(Fp64AttentionTerm, Sum) {
  // Weights of half an ulp: 15 along the first lane, then one at each of the five levels of the tree. h_L = 20.
  AttentionProblem p = zeros(512, 1, 1);
  p.bias = test::filled(Format::f32, {1, 1, 1, 512}, [] { return -kInfinity; });
  for (std::int64_t j = 32; j < 512; j += 32) p.bias.set({0, 0, 0, j}, -36.7367);
  for (const std::int64_t j : {1, 2, 4, 8, 16}) p.bias.set({0, 0, 0, j}, -36.7367);
  p.bias.set({0, 0, 0, 0}, 0.0);
  expect_needed(p, Part::lse, &AttentionTerms::sum, 0.8);  // the certified log has its own 2 u
}

TEST(Fp64AttentionTerm, Chunks) {
  // The same along the chunks: only the addition of their sums rounds.
  AttentionProblem p = zeros(32 * 64, 1, 1);
  p.bias = test::filled(Format::f32, {1, 1, 1, 32 * 64}, [] { return -kInfinity; });
  for (std::int64_t j = 32; j < 32 * 64; j += 32) p.bias.set({0, 0, 0, j}, -36.7367);
  p.bias.set({0, 0, 0, 0}, 0.0);
  AttentionOptions options = nothing();
  options.chunk = 32;
  expect_needed(p, Part::lse, &AttentionTerms::chunks, 0.9, options);
}

TEST(Fp64AttentionTerm, Argument) {
  // Two keys, scores 2^24 + 1 and 0.3 apart in a bias that the score swallows: x is rounded by most of half an ulp.
  AttentionProblem p = zeros(2, 1, 1);
  p.q.set({0, 0, 0, 0}, 1.0);
  p.k.set({0, 0, 0, 0}, 0x1p20);
  p.k.set({0, 0, 1, 0}, 0x1p20);
  p.bias = test::filled(Format::f32, {1, 1, 1, 2}, [] { return 0.0; });
  p.bias.set({0, 0, 0, 1}, -0x1.fffffep-1 * 0x1p-34);  // 2^20 − 2^-34 is halfway between doubles but for a bit
  p.v.set({0, 0, 0, 0}, 1.0);
  expect_needed(p, Part::o, &AttentionTerms::argument, 0.25, nothing(), 0);
}

TEST(Fp64AttentionTerm, Output) {
  // N = 1 and L = 3 are exact.
  AttentionProblem p = zeros(3, 1, 1);
  p.v.set({0, 0, 0, 0}, 1.0);
  expect_needed(p, Part::o, &AttentionTerms::output, 0.99);
}

TEST(Fp64AttentionTerm, Rescale) {
  // One key per chunk, each larger than the last: m moves for every key, and every move rounds the sums before.
  double worst = 0.0, worst_without = 0.0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed, 97);
    AttentionProblem p = zeros(64, 1, 1);
    p.bias = test::filled(Format::f32, {1, 1, 1, 64}, [] { return -kInfinity; });
    p.bias.set({0, 0, 0, 0}, 0.0);
    p.bias.set({0, 0, 0, 32}, random.uniform(0.1, 1.0));
    p.v.set({0, 0, 0, 0}, 1.0);
    const ReferenceResult<Fine> exact = reference<Fine>(p);
    AttentionOptions options = nothing();
    options.chunk = 32;
    options.growth = 0;
    options.terms.output = options.terms.chunks = 1;
    worst_without = std::max(worst_without, reach(run_tier0(p, options).truth.o[0], exact.o[0]));
    options.terms.rescale = 1;
    worst = std::max(worst, reach(run_tier0(p, options).truth.o[0], exact.o[0]));
  }
  EXPECT_LE(worst, 1.0);
  EXPECT_GT(worst, 0.25);
  EXPECT_GT(worst_without, 1.0);
}

}  // namespace
}  // namespace flashproof
