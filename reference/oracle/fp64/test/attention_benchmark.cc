// The fp64 tier of attention, one thread, packing and radius included. items = pairs of query and key.
#include <benchmark/benchmark.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "reference/oracle/fp64/attention.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

enum Form : std::uint8_t { kPlain, kCausal, kSoftcap, kHuge };

AttentionProblem problem_of(Format format, std::int64_t sq, std::int64_t sk, std::int64_t d, int form) {
  Random random(1, 1);
  const double size = form == kHuge ? 5e37 : 1.0;
  AttentionProblem p = test::attention(format, {.sq = sq, .sk = sk, .d = d, .dv = d}, test::normal(random, size),
                                       test::normal(random, size), test::normal(random, size));
  p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(d)));
  p.causal = form == kCausal;
  p.softcap = form == kSoftcap ? 30.0F : 0.0F;
  return p;
}

void attention(benchmark::State& state, Format format, int form) {
  const std::int64_t sq = state.range(0), sk = state.range(1), d = state.range(2);
  const AttentionProblem problem = problem_of(format, sq, sk, d, form);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(sq));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  std::vector<RowCause> cause(rows.size());
  Truth truth = Truth::sized(sq, d);
  for (auto _ : state) {
    fp64_attention(problem, rows, Threads(1), truth, cause);
    benchmark::DoNotOptimize(truth.o.hi());
  }
  state.SetItemsProcessed(state.iterations() * sq * sk);
}

BENCHMARK_CAPTURE(attention, f32, Format::f32, kPlain)
    ->Args({64, 256, 64})
    ->Args({1024, 1024, 128})
    ->Args({1, 65536, 64});
BENCHMARK_CAPTURE(attention, bf16, Format::bf16, kPlain)->Args({64, 256, 64})->Args({1024, 1024, 128});
BENCHMARK_CAPTURE(attention, f32_causal, Format::f32, kCausal)->Args({1024, 1024, 128});
BENCHMARK_CAPTURE(attention, f32_softcap, Format::f32, kSoftcap)->Args({1024, 1024, 128});
BENCHMARK_CAPTURE(attention, f32_at_1e38, Format::f32, kHuge)->Args({64, 256, 64})->Args({1024, 1024, 128});

}  // namespace
}  // namespace flashproof
