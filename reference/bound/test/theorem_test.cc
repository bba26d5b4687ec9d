// The theorem itself, apart from any kernel: errors anywhere within what a RowModel allows, at its ends and pointing
// where they hurt, must stay within the four parts. Truth and emulation are long double.
#include "reference/bound/row/theorem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "reference/bound/test/row_model_test_support.h"
#include "reference/bound/vector/column_sums.h"

namespace flashproof::bound {
namespace {

struct Worst {
  double o = 0, lse = 0;

  /// 1e-15: the emulation's own rounding, a dozen of 2^-64 on numbers below 100.
  static double ratio(long double got, long double exact, double bound) {
    const auto error = static_cast<double>(std::fabs(got - exact));
    return error < 1e-15 ? 0 : error / bound;
  }
};

/// The closed form even where it is vacuous.
ElementBound closed_form_of(const RowModel& row, const RowWeights& weights, const std::vector<double>& v,
                            const EndingModel& ending) {
  return closed_form(row, weights, column_sums(row, weights, v), ending);
}

/// Largest error/bound over random and aligned choices of all errors of one row.
Worst attack(Random& random, const Scenery& scene) {
  const RowWeights weights = perturbed_weights(scene.row);
  double range = 0;
  bool refined = false;
  const ElementBound bound = column_bound(scene.row, weights, scene.v, scene.ending, range, &refined);
  const ElementBound lse = lse_bound(weights, scene.log_error, scene.log_absolute);
  Worst worst;
  for (int trial = 0; trial < 12; ++trial) {
    const Got got = emulate(scene, [&](Error kind, std::size_t j) { return scene.lean(random, trial, kind, j); });
    const Got exact = truth(scene);
    worst.o = std::max(worst.o, Worst::ratio(got.o, exact.o, bound.total()));
    worst.lse = std::max(worst.lse, Worst::ratio(got.lse, exact.lse, lse.total()));
  }
  return worst;
}

TEST(Theorem, no_choice_of_errors_leaves_the_four_parts) {
  Worst worst;
  for (std::uint64_t round = 0; round < 20000; ++round) {
    Random random(21, round);
    const Worst got = attack(random, draw_scenery(random));
    ASSERT_LE(got.o, 1 + 1e-9) << round;
    ASSERT_LE(got.lse, 1 + 1e-9) << round;
    worst = {std::max(worst.o, got.o), std::max(worst.lse, got.lse)};
  }
  RecordProperty("o", std::to_string(worst.o));
  RecordProperty("lse", std::to_string(worst.lse));
  EXPECT_GT(worst.o, 0.9) << "the attack has gone soft";
  EXPECT_GT(worst.lse, 0.9) << "the attack has gone soft";
}

/// Each field on its own carries what it pays for: without it the same attack breaks the bound.
TEST(Theorem, every_field_of_the_model_is_needed) {
  struct {
    const char* name;
    void (*drop)(Scenery&);
    bool lse;  // where it shows
  } fields[] = {
      {"score_error", [](Scenery& s) { s.row.leaves.score_error.assign(s.v.size(), 0); }, false},
      {"exponent", [](Scenery& s) { s.row.leaves.exponent.assign(s.v.size(), 0); }, false},
      {"numerator", [](Scenery& s) { s.row.leaves.numerator.assign(s.v.size(), 0); }, false},
      {"denominator", [](Scenery& s) { s.row.leaves.denominator.assign(s.v.size(), 0); }, false},
      {"lost", [](Scenery& s) { s.row.leaves.lost.assign(s.v.size(), 0); }, false},
      {"lost_numerator", [](Scenery& s) { s.row.leaves.lost_numerator.assign(s.v.size(), 0); }, false},
      {"common", [](Scenery& s) { s.row.common = 0; }, true},
      {"lead", [](Scenery& s) { s.row.lead = 0; }, false},
      {"numerator_underflow", [](Scenery& s) { s.row.numerator_underflow = 0; }, false},
      {"denominator_underflow", [](Scenery& s) { s.row.denominator_underflow = 0; }, false},
      {"ending", [](Scenery& s) { s.ending = 0; }, false},
      {"log_error", [](Scenery& s) { s.log_error = 0; }, true},
      {"log_absolute", [](Scenery& s) { s.log_absolute = 0; }, true},
  };
  for (std::size_t f = 0; f < std::size(fields); ++f) {
    Worst worst;
    for (std::uint64_t round = 0; round < 3000 && (fields[f].lse ? worst.lse : worst.o) <= 1; ++round) {
      Random random(22, round);
      const Scenery scene = draw_scenery(random, static_cast<int>(f));
      Scenery optimistic = scene;
      fields[f].drop(optimistic);
      optimistic.row.frame = frame_of(optimistic.row.leaves);
      const RowWeights weights = perturbed_weights(optimistic.row);
      double range = 0;
      const ElementBound bound = column_bound(optimistic.row, weights, scene.v, optimistic.ending, range);
      const ElementBound lse = lse_bound(weights, optimistic.log_error, optimistic.log_absolute);
      for (int trial = 0; trial < 4; ++trial) {
        const Got got = emulate(scene, [&](Error kind, std::size_t j) { return scene.lean(random, trial, kind, j); });
        const Got exact = truth(scene);
        worst.o = std::max(worst.o, Worst::ratio(got.o, exact.o, bound.total()));
        worst.lse = std::max(worst.lse, Worst::ratio(got.lse, exact.lse, lse.total()));
      }
    }
    EXPECT_GT(fields[f].lse ? worst.lse : worst.o, 1) << fields[f].name << " pays for nothing here";
  }
}

TEST(Theorem, boxes_are_never_above_the_closed_form_and_save_some_elements) {
  int saved = 0;
  int solved = 0;
  for (std::uint64_t round = 0; round < 4000; ++round) {
    Random random(23, round);
    Scenery scene = draw_scenery(random);
    for (double& x : scene.row.leaves.exponent) x *= 40;
    const RowWeights weights = perturbed_weights(scene.row);
    double range = 0;
    bool refined = false;
    const ElementBound bound = column_bound(scene.row, weights, scene.v, scene.ending, range, &refined);
    const ElementBound closed = closed_form_of(scene.row, weights, scene.v, scene.ending);
    ASSERT_LE(bound.weights, closed.weights);
    ASSERT_LE(bound.numerator, closed.numerator);
    ASSERT_LE(bound.denominator, closed.denominator);
    ASSERT_LE(bound.output, closed.output);
    ASSERT_EQ(refined, is_vacuous(closed, range));
    solved += refined;
    saved += refined && !is_vacuous(bound, range);
  }
  EXPECT_GT(solved, 100);
  EXPECT_GT(saved, 20);
}

/// README.md, section 3: where every weight may be lost the means are the largest of what they average; where the sum of weights
/// may be, nothing is claimed.
TEST(Theorem, beyond_its_range_the_closed_form_is_the_largest_value_or_infinite) {
  for (const Beyond beyond : {Beyond::low, Beyond::shrink, Beyond::both}) {
    for (std::uint64_t round = 0; round < 2000; ++round) {
      Random random(26 + static_cast<std::uint64_t>(beyond), round);
      const Scenery scene = draw_beyond(random, beyond);
      const RowWeights weights = perturbed_weights(scene.row);
      const ElementBound closed = closed_form_of(scene.row, weights, scene.v, scene.ending);
      if (beyond != Beyond::shrink) {
        double farthest = 0;
        for (const double v : scene.v) farthest = std::max(farthest, std::fabs(v - scene.o));
        ASSERT_LE(weights.low, 0) << round;
        ASSERT_GE(closed.weights, farthest - 1e-12) << round;
      }
      if (beyond != Beyond::low) {
        ASSERT_TRUE(std::isinf(closed.denominator)) << round;
        continue;
      }
      const Worst got = attack(random, scene);
      ASSERT_LE(got.o, 1 + 1e-9) << round;
      ASSERT_LE(got.lse, 1 + 1e-9) << round;
    }
  }
}

TEST(Theorem, two_opposite_values_are_the_hyperbolic_tangent) {
  // p = 1/2 each, v = ±1, |η| <= h: the error is tanh h, where the closed form has min(1, (e^h − 1) e^h).
  Scenery scene;
  scene.row.leaves.key = {0, 1};
  scene.row.leaves.score = {0, 0};
  scene.row.leaves.resize(2);
  scene.row.leaves.exponent = {0.6, 0.6};
  scene.row.frame = frame_of(scene.row.leaves);
  scene.v = {1, -1};
  double range = 0;
  bool refined = false;
  const ElementBound bound = column_bound(scene.row, perturbed_weights(scene.row), scene.v, 0, range, &refined);
  EXPECT_TRUE(refined);
  EXPECT_FALSE(is_vacuous(bound, range));
  EXPECT_NEAR(bound.weights, std::tanh(0.6), 1e-8);
  EXPECT_TRUE(is_vacuous(closed_form_of(scene.row, perturbed_weights(scene.row), scene.v, 0), range));
}

TEST(Theorem, a_division_free_ending_pays_for_the_size_of_lse) {
  Random random(24, 0);
  const Scenery scene = draw_scenery(random);
  const RowWeights weights = perturbed_weights(scene.row);
  const Arithmetic arithmetic{.reduction = Reduction::chunk_deferred, .exp_error = 0x1p-23, .log_error = 0x1p-23};
  EXPECT_GT(division_free_ending(weights, arithmetic, 1e5).log_units, 1e5 * 0x1p-24);
  EXPECT_LT(division_free_ending(weights, arithmetic, 1).log_units, 1e-5);
  EXPECT_EQ(division_free_error(0.5, 2), growth(0.5) * 2);
}

}  // namespace
}  // namespace flashproof::bound
