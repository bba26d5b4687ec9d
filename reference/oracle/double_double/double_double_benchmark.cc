// All rows of one head of 1024 queries, 1024 keys, d = dv = 128, row by row on one core.
#include <benchmark/benchmark.h>

#include "reference/oracle/test/test_problems.h"
#include "reference/oracle/tiers.h"

namespace {

using namespace flashproof;

void head(benchmark::State& state, Tier tier, Format format) {
  Random random(1, 0);
  const test::Draw draw = test::normal(random);
  AttentionProblem attention = test::attention(format, {.sq = 1024, .sk = 1024, .d = 128, .dv = 128}, draw, draw, draw);
  attention.scale = 0.08838835F;
  const Problem problem = attention;
  for (auto _ : state) {
    const auto dd = double_double_tier(problem);
    for (std::int64_t r = 0; r < 1024; ++r) benchmark::DoNotOptimize(dd->row(r, tier, 0).lse);
  }
}
BENCHMARK_CAPTURE(head, dd_f32, Tier::dd, Format::f32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(head, dd_scores_f32, Tier::dd_scores, Format::f32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(head, dd_bf16, Tier::dd, Format::bf16)->Unit(benchmark::kMillisecond);

void long_row(benchmark::State& state, Tier tier) {
  Random random(1, 0);
  const test::Draw draw = [&random] { return random.uniform(-1, 1); };
  const std::int64_t keys = state.range(0);
  const Problem problem = test::attention(Format::f32, {.sq = 1, .sk = keys, .d = 64, .dv = 64}, draw, draw, draw);
  for (auto _ : state) {
    benchmark::DoNotOptimize(double_double_tier(problem)->row(0, tier, 0).lse);
  }
}
BENCHMARK_CAPTURE(long_row, dd, Tier::dd)->Arg(1 << 20)->Unit(benchmark::kMillisecond);

}  // namespace
