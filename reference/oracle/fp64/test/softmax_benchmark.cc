// Softmax with a radius on every output beside softmax without any: the C library's exp in doubles, and 256-bit MPFR.
// Items are elements. Decoding, the radii and writing them are part of the time; the truth's memory is allocated once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <numeric>

#include "reference/oracle/fp64/softmax.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

struct Work {
  SoftmaxProblem problem;
  std::vector<std::int64_t> rows;
  Truth truth;
  std::vector<RowCause> cause;

  Work(Format format, std::int64_t count, std::int64_t n) : rows(count), cause(count) {
    Random random(1, static_cast<std::uint64_t>(n));
    problem = test::softmax(format, count, n, [&] { return 4.0 * random.normal(); });
    std::iota(rows.begin(), rows.end(), 0);
    truth = Truth::sized(count, n, Tier::fp64);
  }
  void certify(const Threads& threads) { fp64_softmax(problem, rows, threads, truth, cause); }
};

void certified(benchmark::State& state, Format format, int threads) {
  const std::int64_t n = state.range(0);
  Work work(format, state.range(1), n);
  for (auto _ : state) work.certify(Threads(threads));
  state.SetItemsProcessed(state.iterations() * n * state.range(1));
}
BENCHMARK_CAPTURE(certified, f32, Format::f32, 1)
    ->Args({16, 1024})
    ->Args({64, 256})
    ->Args({1024, 16})
    ->Args({1024, 4096})
    ->Args({65536, 1})
    ->Args({1048576, 1});
BENCHMARK_CAPTURE(certified, f16, Format::f16, 1)->Args({1024, 16});
BENCHMARK_CAPTURE(certified, bf16, Format::bf16, 1)->Args({1024, 16});
BENCHMARK_CAPTURE(certified, f32_two_threads, Format::f32, 2)->Args({1024, 1024})->UseRealTime();
BENCHMARK_CAPTURE(certified, f32_one_thread, Format::f32, 1)->Args({1024, 1024})->UseRealTime();

/// The same with a truth allocated each time, as the driver has it.
void whole_tier(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  Work work(Format::f32, state.range(1), n);
  const Problem problem = work.problem;
  for (auto _ : state) {
    Truth truth;
    fp64_tier(problem, work.rows, Threads(1), truth, work.cause);
    benchmark::DoNotOptimize(truth.o.hi());
  }
  state.SetItemsProcessed(state.iterations() * n * state.range(1));
}
BENCHMARK(whole_tier)->Args({1024, 16})->Args({1024, 4096});

std::vector<double> decoded(const Work& work) {
  std::vector<double> x;
  x.reserve(work.problem.x.elements());
  for (std::int64_t j = 0; j < work.problem.x.elements(); ++j) {
    x.push_back(decode(work.problem.x.format, work.problem.x.bits(j)));
  }
  return x;
}

void libm_without_radius(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const std::int64_t rows = state.range(1);
  const std::vector<double> x = decoded(Work(Format::f32, rows, n));
  std::vector<double> o(x.size());
  for (auto _ : state) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const double* const from = x.data() + r * n;
      double* const to = o.data() + r * n;
      const double m = *std::max_element(from, from + n);
      double total = 0.0;
      for (std::int64_t j = 0; j < n; ++j) {
        to[j] = std::exp(from[j] - m);
        total += to[j];
      }
      for (std::int64_t j = 0; j < n; ++j) to[j] /= total;
    }
    benchmark::DoNotOptimize(o.data());
  }
  state.SetItemsProcessed(state.iterations() * n * rows);
}
BENCHMARK(libm_without_radius)->Args({1024, 16});

void mpfr_256_bits(benchmark::State& state) {
  namespace mp = boost::multiprecision;
  using Real = mp::number<mp::mpfr_float_backend<77, mp::allocate_stack>, mp::et_off>;
  const std::int64_t n = state.range(0);
  const std::vector<double> x = decoded(Work(Format::f32, 1, n));
  std::vector<Real> o(x.size());
  for (auto _ : state) {
    const double m = *std::max_element(x.begin(), x.end());
    Real total = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      o[j] = exp(Real(x[j]) - m);
      total += o[j];
    }
    for (Real& p : o) p /= total;
    benchmark::DoNotOptimize(o.data());
  }
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(mpfr_256_bits)->Arg(1024);

}  // namespace
}  // namespace flashproof
