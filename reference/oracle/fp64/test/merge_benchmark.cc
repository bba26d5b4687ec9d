// Merging with a radius on every output beside merging in doubles without any. Items are values read.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/oracle/fp64/merge.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

MergeProblem states(const benchmark::State& state) {
  Random random(1, 1);
  return test::merge(Format::f32, state.range(0), state.range(1), state.range(2), test::normal(random),
                     test::normal(random, 4.0), MergeForm::sum);
}

void certified(benchmark::State& state) {
  const MergeProblem problem = states(state);
  std::vector<std::int64_t> rows(state.range(1));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<RowCause> cause(rows.size());
  Truth truth = Truth::sized(state.range(1), state.range(2));
  for (auto _ : state) fp64_merge(problem, rows, Threads(), truth, cause);
  state.SetItemsProcessed(state.iterations() * problem.o.elements());
}
BENCHMARK(certified)->Args({2, 256, 128})->Args({16, 256, 128})->Args({64, 64, 128})->Args({8, 256, 20});

void libm_without_radius(benchmark::State& state) {
  const MergeProblem problem = states(state);
  const std::int64_t n = state.range(0), rows = state.range(1), width = state.range(2);
  std::vector<double> o(rows * width), lse(rows), w(n);
  for (auto _ : state) {
    for (std::int64_t r = 0; r < rows; ++r) {
      double m = problem.lse.at({0, r});
      for (std::int64_t s = 1; s < n; ++s) m = std::max(m, problem.lse.at({s, r}));
      double total = 0;
      for (std::int64_t s = 0; s < n; ++s) total += w[s] = std::exp(problem.lse.at({s, r}) - m);
      double* const row = o.data() + r * width;
      std::fill(row, row + width, 0.0);
      for (std::int64_t s = 0; s < n; ++s) {
        const float* const v = static_cast<const float*>(problem.o.data()) + (s * rows + r) * width;
        for (std::int64_t c = 0; c < width; ++c) row[c] += w[s] * v[c];
      }
      for (std::int64_t c = 0; c < width; ++c) row[c] /= total;
      lse[r] = m + std::log(total);
    }
    benchmark::DoNotOptimize(o.data());
    benchmark::DoNotOptimize(lse.data());
  }
  state.SetItemsProcessed(state.iterations() * problem.o.elements());
}
BENCHMARK(libm_without_radius)->Args({2, 256, 128})->Args({16, 256, 128})->Args({64, 64, 128})->Args({8, 256, 20});

}  // namespace
}  // namespace flashproof
