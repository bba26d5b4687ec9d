// The device tier where scores are huge, tiny, tied or far apart: a ball holds the exact value or is unbounded, and a row
// that sees a key is never taken for one that sees none. Skipped without a GPU.
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "reference/oracle/gpu/layout.h"
#include "reference/oracle/gpu/test/gpu_containment.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

constexpr double kMost = std::numeric_limits<float>::max();
constexpr double kLeast = std::numeric_limits<float>::denorm_min();
constexpr std::int64_t kEveryRow = 1 << 30;

using Draws = std::function<double(Random&)>;
double normal(Random& random) { return random.normal(); }
Draws constant(double x) {
  return [x](Random&) { return x; };
}
Draws times(double factor) {
  return [factor](Random& random) { return factor * random.normal(); };
}
/// Within a few units of f32's last place of x: products differ by little beside what they are.
Draws near(double x) {
  return [x](Random& random) { return x * (1 + 0x1p-23 * static_cast<double>(random.integer(0, 3))); };
}
Draws magnitude(double x, bool negative) {
  return [x, negative](Random& random) { return std::copysign(x * random.normal(), negative ? -1.0 : 1.0); };
}

using GpuExtremes = GpuContainmentTest;

AttentionProblem f32_problem(const test::AttentionSize& size, std::uint64_t seed, const Draws& q, const Draws& k,
                             const Draws& v, float scale) {
  Random random(seed, 34);
  AttentionProblem problem = test::attention(
      Format::f32, size, [&] { return q(random); }, [&] { return k(random); }, [&] { return v(random); });
  problem.scale = scale;
  return problem;
}

/// As it is, with windows of one and of three keys, with sinks far above, among and far below ordinary scores.
void expect_in_all_forms(const AttentionProblem& problem, EnclosureCounts& tally, const std::string& where) {
  ASSERT_NO_FATAL_FAILURE(expect_contained(problem, kEveryRow, tally, where));
  for (const int width : {0, 1}) {
    AttentionProblem narrow = problem;
    narrow.window_left = narrow.window_right = width;
    ASSERT_NO_FATAL_FAILURE(expect_contained(narrow, kEveryRow, tally, where + ", window " + std::to_string(width)));
  }
  for (const double sink : {kMost, 1.0, -kMost, -std::numeric_limits<double>::infinity()}) {
    AttentionProblem with_sink = problem;
    with_sink.sink = Tensor::dense(Format::f32, {problem.q_heads()});
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) with_sink.sink.set({h}, sink);
    ASSERT_NO_FATAL_FAILURE(expect_contained(with_sink, kEveryRow, tally, where + ", sink " + std::to_string(sink)));
  }
}

TEST_F(GpuExtremes, ScoresOfEverySize) {
  struct Case {
    const char* name;
    Draws q, k, v;
    float scale;
  };
  const Case cases[] = {
      {"near ties at 1e30", near(1e15), near(1e15), normal, 1},
      {"near ties at 1e30, negative", near(1e15), near(-1e15), normal, 1},
      {"near ties at 2^48", near(0x1p24), near(0x1p24), normal, 1},
      {"near ties at 1e76", near(1e38), near(1e38), times(5e37), 1},
      {"1e38", times(5e37), times(5e37), times(5e37), 1},
      {"1e38, negative scale", times(5e37), times(5e37), times(5e37), -1},
      {"1e38, scores above 0", magnitude(5e37, false), magnitude(5e37, false), times(5e37), 0.3F},
      {"1e38, scores below 0", magnitude(5e37, false), magnitude(5e37, true), times(5e37), 0.3F},
      {"equal scores at 1e30", times(1e15), constant(1e15), normal, 1},
      {"equal scores at 1e76", times(5e37), constant(5e37), normal, 1},
      {"equal scores at 2^60", times(0x1p30), constant(0x1p30), normal, 1},
      {"the largest numbers", constant(kMost), constant(kMost), constant(kMost), static_cast<float>(kMost)},
      {"the largest numbers, both signs", [](Random& r) { return r.chance(0.5) ? kMost : -kMost; },
       [](Random& r) { return r.chance(0.5) ? kMost : -kMost; },
       [](Random& r) { return r.chance(0.5) ? kMost : -kMost; }, static_cast<float>(-kMost)},
      {"subnormal", times(64 * kLeast), times(64 * kLeast), times(64 * kLeast), static_cast<float>(kLeast)},
      {"subnormal, largest scale", times(64 * kLeast), times(64 * kLeast), times(64 * kLeast),
       static_cast<float>(kMost)},
      {"1e38, smallest scale", times(5e37), times(5e37), times(5e37), static_cast<float>(kLeast)},
      {"ordinary scores from 1e20 and 1e-20", times(1e20), times(1e-20), times(5e37), 1},
      {"subnormal v", normal, normal, times(64 * kLeast), 1},
      {"zero k", times(5e37), constant(0), times(5e37), 1},
  };
  std::uint64_t seed = 0;
  for (const Case& one : cases) {
    for (const std::int64_t depth : {1, 8, 128}) {
      const test::AttentionSize size{.q_heads = 2, .sq = 6, .sk = depth == 8 ? 70 : 12, .d = depth, .dv = 5};
      const AttentionProblem problem = f32_problem(size, ++seed, one.q, one.k, one.v, one.scale);
      ASSERT_NO_FATAL_FAILURE(
          expect_in_all_forms(problem, tally, std::string(one.name) + ", depth " + std::to_string(depth)));
    }
  }
  EXPECT_GT(tally.bounded_rows, 0);
  EXPECT_LT(tally.bounded_rows, tally.rows);  // u|m| is more than a nat in many of them
}

// Scores of tile t are first + t·step, equal or noisy within a tile; from −1e38 to ordinary ones after the first tile. Every
// score is one exact product.
TEST_F(GpuExtremes, MaximaThatRiseFromTileToTile) {
  constexpr std::int64_t kTiles = 6;
  for (const double step : {7.5, 8.5, 699.0, 701.0, 1000.0, 1e6, 1e15, 1e30, 1e37}) {
    for (const double sign : {1.0, -1.0}) {
      for (const double first : {0.0, -1e3, 1e14, -1e14, -1e38}) {
        for (const double noise : {0.0, 1.0}) {
          AttentionProblem problem = f32_problem({.sq = 3, .sk = kTiles * gpu::kKeys, .d = 1, .dv = 3}, 5, constant(1),
                                                 times(noise), normal, 1);
          double largest = 0;
          for (std::int64_t j = 0; j < problem.k_length(); ++j) {
            const std::int64_t of_tile = j / gpu::kKeys;
            const auto tile = static_cast<double>(of_tile);
            problem.k.set({0, 0, j, 0},
                          problem.k.at({0, 0, j, 0}) + sign * step * tile + (first < -1e30 && tile > 0 ? 0 : first));
            largest = std::max(largest, std::fabs(problem.k.at({0, 0, j, 0})));
          }
          const std::string where = "step " + std::to_string(sign * step) + " from " + std::to_string(first);
          const std::int64_t before = tally.bounded_rows;
          ASSERT_NO_FATAL_FAILURE(expect_contained(problem, kEveryRow, tally, where));
          // Scores are exact, and no reference is above 2^49.
          if (largest < 0x1p49) {
            EXPECT_EQ(tally.bounded_rows, before + 3) << where;
          }
        }
      }
    }
  }
}

TEST_F(GpuExtremes, OneKeyDominates) {
  for (const double gap : {30.0, 690.0, 710.0, 1e4, 1e10, 1e20, 1e30, 1e38}) {
    for (const std::int64_t depth : {1, 16}) {
      for (const std::int64_t at : {0, 33, 69}) {
        AttentionProblem problem = f32_problem(
            {.sq = 4, .sk = 70, .d = depth, .dv = 6}, 6, [](Random& r) { return 1 + r.uniform(); }, normal, times(1e10),
            1);
        for (std::int64_t c = 0; c < depth; ++c) problem.k.set({0, 0, at, c}, gap / static_cast<double>(depth));
        const std::string where = "gap " + std::to_string(gap) + " at key " + std::to_string(at);
        const std::int64_t before = tally.bounded_rows;
        ASSERT_NO_FATAL_FAILURE(expect_in_all_forms(problem, tally, where));
        if (gap < 0x1p30) {
          EXPECT_GT(tally.bounded_rows, before) << where;
        }
      }
    }
  }
}

// Formats of 16 bits: exact scores at every size.
TEST_F(GpuExtremes, HalfFormats) {
  for (const Format format : {Format::f16, Format::bf16}) {
    const double most = format == Format::f16 ? 65504 : 0x1.fep127, least = format == Format::f16 ? 0x1p-24 : 0x1p-133;
    for (const double size : {most, most / 64, std::sqrt(most), 1.0, least * 8}) {
      Random random(7, 34);
      const auto draw = [&] { return std::fmax(-most, std::fmin(most, size * random.normal())); };
      AttentionProblem problem = test::attention(format, {.sq = 5, .sk = 70, .d = 40, .dv = 5}, draw, draw, draw);
      problem.scale = 1;
      ASSERT_NO_FATAL_FAILURE(expect_in_all_forms(problem, tally, "16 bits, size " + std::to_string(size)));
    }
  }
}

}  // namespace
}  // namespace flashproof
