// NaN and ±inf in every input of attention. Which class is right follows from rows.h; the numbers beside special columns are
// held against the same problem without them: hidden keys behind a bias of −inf, everything else that is special as 0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/oracle/fp64/test/attention_check.h"
#include "reference/oracle/rows.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using namespace attention64::check;

double special(Random& random) {
  constexpr double kValues[] = {kInfinity, -kInfinity, kNan};
  return kValues[random.integer(0, 2)];
}

void sprinkle(Random& random, double rate, Tensor& tensor) {
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {  // dense
    if (random.chance(rate)) tensor.set_bits(n, encode(tensor.format, special(random)));
  }
}

/// A plain problem whose bias and softcap add up without rounding in f32.
AttentionProblem special_problem(Random& random) {
  test::AttentionSize size{.batch = 1,
                           .q_heads = 2,
                           .k_heads = 1,
                           .sq = random.integer(1, 5),
                           .sk = random.integer(1, 45),
                           .d = random.integer(1, 4),
                           .dv = random.integer(1, 20)};
  AttentionProblem p = test::attention(random.chance(0.5) ? Format::f32 : Format::f16, size, test::normal(random),
                                       test::normal(random), test::normal(random));
  p.causal = random.chance(0.5);
  if (random.chance(0.4)) p.softcap = 4.0F;
  p.bias = test::filled(Format::f32, {1, 2, size.sq, size.sk}, [&] {
    if (random.chance(0.15)) return -kInfinity;
    return static_cast<double>(random.integer(-32, 32)) / 8;
  });
  if (random.chance(0.4))
    p.sink = test::filled(Format::f32, {2}, [&] { return random.chance(0.3) ? special(random) : 1.5; });
  sprinkle(random, random.chance(0.5) ? 0.02 : 0.0, p.q);
  sprinkle(random, random.chance(0.7) ? 0.5 / static_cast<double>(size.sk * size.d) : 0.0, p.k);
  sprinkle(random, random.chance(0.7) ? 0.05 : 0.0, p.v);
  if (random.chance(0.2)) sprinkle(random, 0.02, p.bias);
  return p;
}

void clear_vectors(Tensor& tensor, bool whole) {
  for (std::int64_t h = 0; h < tensor.shape[1]; ++h) {
    for (std::int64_t j = 0; j < tensor.shape[2]; ++j) {
      bool finite = true;
      for (std::int64_t c = 0; c < tensor.shape[3]; ++c) finite = finite && std::isfinite(tensor.at({0, h, j, c}));
      for (std::int64_t c = 0; c < tensor.shape[3]; ++c) {
        if (!finite && (whole || !std::isfinite(tensor.at({0, h, j, c})))) tensor.set({0, h, j, c}, 0.0);
      }
    }
  }
}

struct Expected {
  std::vector<RowBalls> rows;  // classes; Tier::symbolic where special values decide the whole row
  AttentionProblem clean;
};

Expected expected(const AttentionProblem& problem) {
  Expected result{{}, problem};
  AttentionProblem& clean = result.clean;
  for (std::int64_t r = 0; r < output_shape(Problem(problem)).rows; ++r) {
    const AttentionRow row = locate(problem, r);
    HeadFlags flags(problem, row.sequence, problem.kv_head(row.head));
    RowKeys keys;
    collect_keys(problem, row, flags, keys);
    RowBalls balls;
    const bool whole = symbolic_row(problem, keys, balls);
    if (!whole) {
      balls.o.resize(static_cast<std::size_t>(problem.value_dim()));
      balls.tier = Tier::fp64;
      mark_special_values(problem, row, keys, flags, balls);
    }
    result.rows.push_back(balls);
    // The keys without a weight, and the scores of ±c under a softcap.
    for (std::int64_t j = 0; j < problem.k_length(); ++j) {
      const auto at = std::find(keys.key.begin(), keys.key.end(), j);
      if (whole || at == keys.key.end()) {
        clean.bias.set({0, row.head, row.query, j}, whole ? 0.0 : -kInfinity);
      } else if (!keys.infinite.empty()) {
        const double sign = keys.infinite[static_cast<std::size_t>(at - keys.key.begin())];
        clean.bias.set({0, row.head, row.query, j},
                       problem.bias.at({0, row.head, row.query, j}) + sign * problem.softcap);
      }
    }
  }
  clear_vectors(clean.q, true);
  clear_vectors(clean.k, true);
  clear_vectors(clean.v, false);
  for (std::int64_t h = 0; clean.has_sink() && h < 2; ++h) {
    if (!std::isfinite(clean.sink.at({h}))) clean.sink.set({h}, -kInfinity);
  }
  return result;
}

TEST(Fp64AttentionSpecial, ClassesAndNumbersAreRight) {
  EnclosureCounts tally;
  std::int64_t symbolic_rows = 0, special_columns = 0, numeric_rows_with_specials = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    Random random(seed, 90);
    const AttentionProblem problem = special_problem(random);
    const Expected right = expected(problem);
    AttentionOptions options;
    options.chunk = seed % 2 == 0 ? 32 : 0;
    options.pack_bytes = seed % 4 == 0 ? 0 : 1 << 20;
    const Tier0 tier = run_tier0(problem, options, seed % 3 == 0 ? 2 : 1);
    const ReferenceResult<Fine> exact = reference<Fine>(right.clean);
    const auto error = test::reference_error<Fine>(Problem(right.clean), ldexp(Fine(1), -kFineBits), 2.0);
    for (std::size_t r = 0; r < right.rows.size(); ++r) {
      const RowBalls& row = right.rows[r];
      const bool symbolic = row.tier == Tier::symbolic;
      symbolic_rows += symbolic ? 1 : 0;
      ASSERT_EQ(tier.truth.tier[r], row.tier) << seed << " row " << r;
      bool special_row = false;
      for (std::size_t c = 0; c < row.o.size(); ++c) {
        const Ball ball = tier.truth.o[r * row.o.size() + c];
        ASSERT_EQ(ball.classes, row.o[c].classes) << seed << " row " << r << " column " << c;
        special_columns += ball.classes != kFinite ? 1 : 0;
        special_row = special_row || ball.classes != kFinite;
        if (symbolic && ball.classes == kFinite) {
          ASSERT_EQ(ball.hi, row.o[c].hi);
          ASSERT_EQ(ball.radius, 0.0);
        }
        if (!symbolic && ball.classes == kFinite) judge(ball, exact.o[r * row.o.size() + c], error.o, 1e4, tally);
      }
      const Ball lse = tier.truth.lse[r];
      if (symbolic) {
        ASSERT_EQ(lse.classes, row.lse.classes);
        ASSERT_EQ(lse.hi, row.lse.hi);
        ASSERT_EQ(lse.radius, 0.0);
      } else {
        judge(lse, exact.lse[r], error.lse, 1.0, tally);
        numeric_rows_with_specials += special_row ? 1 : 0;
      }
    }
    ASSERT_EQ(tally.violations + tally.wrong_class + tally.unbounded, 0) << seed;
  }
  EXPECT_GT(symbolic_rows, 100);
  EXPECT_GT(special_columns, 500);
  EXPECT_GT(numeric_rows_with_specials, 50);
  EXPECT_GT(tally.elements, 3000);
}

TEST(Fp64AttentionSpecial, WhatIsHiddenChangesNoBit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, 91);
    AttentionProblem problem = test::attention(Format::f32, {.sq = 3, .sk = 70, .d = 5, .dv = 6}, test::normal(random),
                                               test::normal(random), test::normal(random));
    problem.key_length = {40};
    problem.bias = test::filled(Format::f32, {1, 1, 3, 70}, [] { return 0.0; });
    for (std::int64_t i = 0; i < 3; ++i) problem.bias.set({0, 0, i, 7}, -kInfinity);
    const Tier0 before = run_tier0(problem);
    for (const std::int64_t hidden : {std::int64_t{7}, std::int64_t{40}, std::int64_t{69}}) {
      problem.k.set({0, 0, hidden, 2}, special(random));
      for (std::int64_t c = 0; c < 6; ++c) problem.v.set({0, 0, hidden, c}, special(random));
    }
    const Tier0 after = run_tier0(problem);
    for (std::size_t i = 0; i < before.truth.o.size(); ++i) {
      ASSERT_EQ(before.truth.o[i].hi, after.truth.o[i].hi);
      ASSERT_EQ(after.truth.o[i].classes, kFinite);
    }
  }
}

}  // namespace
}  // namespace flashproof
