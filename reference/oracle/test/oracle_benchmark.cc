// How long a stored truth takes: every radius at most 2^-12 ulp of f32, so most rows climb. Items are multiply-adds
// (attention, merge) or exponentials (softmax).
#include <benchmark/benchmark.h>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

void attention_16x64x32(benchmark::State& state) {
  Random random(1, 1);
  const auto draw = [&] { return random.normal(); };
  const Problem problem = test::attention(Format::f32, {.sq = 16, .sk = 64, .d = 32, .dv = 32}, draw, draw, draw);
  for (auto _ : state) benchmark::DoNotOptimize(compute_truth(problem));
  state.SetItemsProcessed(state.iterations() * 16 * 64 * 32);
}
BENCHMARK(attention_16x64x32)->Unit(benchmark::kMillisecond);

void softmax_4x1000(benchmark::State& state) {
  Random random(2, 1);
  const Problem problem = test::softmax(Format::f32, 4, 1000, [&] { return random.normal(); });
  for (auto _ : state) benchmark::DoNotOptimize(compute_truth(problem));
  state.SetItemsProcessed(state.iterations() * 4 * 1000);
}
BENCHMARK(softmax_4x1000)->Unit(benchmark::kMillisecond);

void merge_8x4x32(benchmark::State& state) {
  Random random(3, 1);
  const auto draw = [&] { return random.normal(); };
  const Problem problem = test::merge(Format::f32, 8, 4, 32, draw, draw, MergeForm::sum);
  for (auto _ : state) benchmark::DoNotOptimize(compute_truth(problem));
  state.SetItemsProcessed(state.iterations() * 8 * 4 * 32);
}
BENCHMARK(merge_8x4x32)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flashproof
