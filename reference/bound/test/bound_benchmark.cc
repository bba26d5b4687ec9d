// The bound beside the fp64 oracle, by turns in one run, one thread, in CPU time: `ratio` is what the closed form costs in
// units of an oracle pass, `oracle_ms` such a pass, `refined` the share of elements that were solved by boxes too. items = pairs of query and key.
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <numeric>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/row/sums.h"
#include "reference/oracle/fp64/attention.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

AttentionProblem problem_of(std::int64_t sq, std::int64_t sk, std::int64_t d, double size) {
  Random random(1, 1);
  AttentionProblem p = test::attention(Format::f32, {.sq = sq, .sk = sk, .d = d, .dv = d}, test::normal(random, size),
                                       test::normal(random, size), test::normal(random, 1.0));
  p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(d)));
  p.plan = ChunkPlan::uniform(sk, 64);
  return p;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void bound_beside_oracle(benchmark::State& state, double size) {
  const std::int64_t sq = state.range(0), sk = state.range(1), d = state.range(2);
  const AttentionProblem problem = problem_of(sq, sk, d, size);
  const Arithmetic arithmetic{
      .reduction = Reduction::chunk_deferred, .exp_error = 0x1p-23, .log_error = 0x1p-23, .lanes = 32};
  std::vector<std::int64_t> rows(static_cast<std::size_t>(sq));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  std::vector<RowCause> cause(rows.size());
  Truth truth = Truth::sized(sq, d);
  double oracle = 0, bounds = 0, refined = 0;
  for (auto _ : state) {
    const double begin = cpu_seconds();
    fp64_attention(problem, rows, Threads(1), truth, cause);
    benchmark::DoNotOptimize(truth.o.hi());
    const double middle = cpu_seconds();
    const Bound bound = compute_bound(problem, arithmetic);
    benchmark::DoNotOptimize(bound.o.data());
    const double end = cpu_seconds();
    oracle += middle - begin;
    bounds += end - middle;
    refined = static_cast<double>(bound.refined) / static_cast<double>(bound.o.size());
    state.SetIterationTime(end - middle);
  }
  state.counters["ratio"] = bounds / oracle;
  state.counters["oracle_ms"] = 1e3 * oracle / static_cast<double>(state.iterations());
  state.counters["refined"] = refined;
  state.SetItemsProcessed(state.iterations() * sq * sk);
}

void dot_products(benchmark::State& state) {
  const std::int64_t n = state.range(0), d = state.range(1);
  Random random(1, 2);
  std::vector<double> q(static_cast<std::size_t>(n * d));
  for (double& x : q) x = static_cast<float>(random.normal());
  std::vector<double> dot(static_cast<std::size_t>(n * n));
  std::vector<double> size(dot.size());
  for (auto _ : state) {
    bound::dots({q.data(), n, d}, {q.data(), n, d}, dot.data(), size.data());
    benchmark::DoNotOptimize(dot.data());
  }
  state.SetItemsProcessed(state.iterations() * n * n);
}

BENCHMARK_CAPTURE(bound_beside_oracle, plain, 1.0)
    ->Args({1024, 1024, 128})
    ->Args({64, 256, 64})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bound_beside_oracle, vacuous, 1e3)
    ->Args({64, 256, 64})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(dot_products)->Args({1024, 128})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flashproof
