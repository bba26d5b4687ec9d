// Every ball of the device tier holds the exact value: against the exact tier, over many classes of input, shapes,
// masks and formats. Skipped without a GPU.
#include <cmath>
#include <functional>

#include "reference/oracle/gpu/test/gpu_containment.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

constexpr std::int64_t kRowsPerProblem = 6;

using GpuContainment = GpuContainmentTest;

TEST_F(GpuContainment, HardKinds) {
  int taken = 0;
  for (const test::Kind& kind : test::hard_kinds()) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      Random random(seed, 31);
      const Problem problem = kind.make(random);
      const auto* attention = std::get_if<AttentionProblem>(&problem);
      if (attention == nullptr || !gpu_tier_unsupported(*attention).empty()) continue;
      ++taken;
      ASSERT_NO_FATAL_FAILURE(expect_contained(*attention, kRowsPerProblem, tally, kind.name));
    }
  }
  EXPECT_GT(taken, 0);
}

TEST_F(GpuContainment, SmallMixtures) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, 32);
    test::Mix mix;
    mix.causal = random.chance(0.5), mix.lengths = random.chance(0.5), mix.window = random.chance(0.5);
    mix.sink = random.chance(0.3);
    const Format formats[] = {Format::f32, Format::f16, Format::bf16};
    const AttentionProblem problem = test::random_attention(random, formats[seed % 3], mix, random.chance(0.5));
    if (!gpu_tier_unsupported(problem).empty()) continue;
    ASSERT_NO_FATAL_FAILURE(expect_contained(problem, kRowsPerProblem, tally, "mixture " + std::to_string(seed)));
  }
  EXPECT_GT(tally.bounded_rows, tally.rows / 2);
}

struct Class {
  const char* name;
  std::function<double(Random&)> q, k, v;
  float scale;
};

double normal(Random& random) { return random.normal(); }
std::function<double(Random&)> times(double factor) {
  return [factor](Random& random) { return factor * random.normal(); };
}
/// Magnitudes over [2^lo, 2^hi).
std::function<double(Random&)> spread(int lo, int hi) {
  return [lo, hi](Random& random) {
    const double x = std::ldexp(1 + random.uniform(), static_cast<int>(random.integer(lo, hi - 1)));
    return random.chance(0.5) ? -x : x;
  };
}

const std::vector<Class>& classes() {
  static const std::vector<Class> all = {
      {"normal", normal, normal, normal, 0.088F},
      {"peaked", times(8), normal, normal, 0.2F},
      {"very peaked", times(60), times(3), normal, 1},
      {"negative scale", normal, normal, normal, -0.3F},
      {"flat", times(0.01), normal, normal, 0.05F},
      {"rare large q", [](Random& r) { return r.normal() * (r.chance(0.02) ? 100 : 1); }, normal, normal, 0.1F},
      {"v of one sign", normal, normal, [](Random& r) { return 1 + 0.001 * r.normal(); }, 0.1F},
      {"v spread", normal, normal, spread(-12, 12), 0.1F},
      {"v subnormal in f16", normal, normal, spread(-24, -18), 0.1F},
      {"q and k spread", spread(-8, 3), spread(-8, 3), normal, 0.02F},
      {"tiny q", times(0x1p-14), normal, normal, 1},
      {"equal keys", normal, [](Random&) { return 0.5; }, normal, 0.1F},
      {"zeros", [](Random&) { return 0.0; }, normal, normal, 0.1F},
  };
  return all;
}

TEST_F(GpuContainment, ManyKeysOfManyClasses) {
  struct Shape {
    test::AttentionSize size;
    bool causal;
    int left, right;
  };
  const Shape shapes[] = {
      {{.batch = 1, .q_heads = 2, .k_heads = 1, .sq = 3, .sk = 1200, .d = 128, .dv = 128}, false, -1, -1},
      {{.batch = 2, .q_heads = 1, .k_heads = 1, .sq = 140, .sk = 333, .d = 64, .dv = 80}, true, -1, -1},
      {{.batch = 1, .q_heads = 1, .k_heads = 1, .sq = 260, .sk = 260, .d = 17, .dv = 3}, false, 90, 20},
      {{.batch = 1, .q_heads = 1, .k_heads = 1, .sq = 5, .sk = 1, .d = 1, .dv = 1}, false, -1, -1},
      {{.batch = 1, .q_heads = 1, .k_heads = 1, .sq = 200, .sk = 70, .d = 40, .dv = 33}, true, -1, -1},
  };
  std::uint64_t seed = 0;
  for (const Class& one : classes()) {
    for (const Shape& shape : shapes) {
      const Format formats[] = {Format::f32, Format::f16, Format::bf16};
      const Format format = formats[seed % 3];
      Random random(++seed, 33);
      AttentionProblem problem = test::attention(
          format, shape.size, [&] { return one.q(random); }, [&] { return one.k(random); },
          [&] { return one.v(random); }, random.chance(0.5));
      problem.scale = one.scale;
      problem.causal = shape.causal, problem.window_left = shape.left, problem.window_right = shape.right;
      ASSERT_NO_FATAL_FAILURE(expect_contained(problem, kRowsPerProblem, tally, one.name));
    }
  }
  EXPECT_GT(tally.bounded_rows, tally.rows * 9 / 10);
}

}  // namespace
}  // namespace flashproof
