// The oracle beside what others would use, in one run: each benchmark times both by turns and prints the ratio of the
// medians, so that a noisy machine hurts both alike. Times are of one thread unless the name says so.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "reference/oracle/oracle.h"
#include "reference/oracle/peers/peers.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Reports the oracle's time as the benchmark's own; counters: the peer's milliseconds and peer / oracle.
void by_turns(benchmark::State& state, const std::function<void()>& oracle, const std::function<void()>& peer,
              double peer_share) {
  std::vector<double> ours, theirs;
  oracle();  // both warm
  peer();
  for (auto _ : state) {
    ours.push_back(seconds(oracle));
    theirs.push_back(seconds(peer) / peer_share);
    state.SetIterationTime(ours.back());
  }
  state.counters["oracle_ms"] = 1e3 * median(ours);
  state.counters["peer_ms"] = 1e3 * median(theirs);
  state.counters["peer/oracle"] = median(theirs) / median(ours);
}

struct Head {
  AttentionProblem problem;
  peers::Matrix q, k, v;

  Head(Format format, std::int64_t sq, std::int64_t sk, std::int64_t d) {
    Random random(1, static_cast<std::uint64_t>(sk));
    const auto draw = [&] { return random.normal(); };
    problem = test::attention(format, {.sq = sq, .sk = sk, .d = d, .dv = d}, draw, draw, draw);
    problem.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    q = peers::decoded(problem.q, 0, 0);
    k = peers::decoded(problem.k, 0, 0);
    v = peers::decoded(problem.v, 0, 0);
  }
};

void certify(const Problem& problem, int threads = 1) {
  const Oracle oracle(problem, {.threads = threads});
  benchmark::DoNotOptimize(oracle.truth().o.hi());
}

void head_against_openblas(benchmark::State& state) {
  const auto blas = peers::OpenBlas::load();
  if (!blas) {
    state.SkipWithError("libopenblas.so.0 is not installed (Debian: libopenblas0-pthread)");
    return;
  }
  const Head head(Format::f32, state.range(0), state.range(1), state.range(2));
  const Problem problem = head.problem;
  state.SetLabel("peer: OpenBLAS dgemm (" + blas->core() + ") + Highway exp, no radius");
  by_turns(
      state, [&] { certify(problem); },
      [&] { benchmark::DoNotOptimize(peers::blas_head(*blas, head.problem.scale, head.q, head.k, head.v)); }, 1.0);
}
BENCHMARK(head_against_openblas)
    ->Args({64, 256, 64})
    ->Args({1024, 1024, 128})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(1.0);

void head_against_mpfr256(benchmark::State& state) {
  const Head head(Format::f32, state.range(0), state.range(1), state.range(2));
  const Problem problem = head.problem;
  constexpr std::int64_t kRows = 2;  // of Sq, which are alike: the whole would take half a minute
  state.SetLabel("peer: Boost mpfr 256 bit, 2 rows, times Sq/2");
  by_turns(
      state, [&] { certify(problem); },
      [&] { benchmark::DoNotOptimize(peers::mpfr_rows(head.problem.scale, head.q, head.k, head.v, kRows)); },
      static_cast<double>(kRows) / static_cast<double>(state.range(0)));
}
BENCHMARK(head_against_mpfr256)
    ->Args({64, 256, 64})
    ->Args({1024, 1024, 128})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(20);

void head_on_two_threads(benchmark::State& state) {
  const Head head(Format::f32, state.range(0), state.range(1), state.range(2));
  const Problem problem = head.problem;
  state.SetLabel("peer: the oracle on one thread");
  by_turns(state, [&] { certify(problem, 2); }, [&] { certify(problem, 1); }, 1.0);
}
BENCHMARK(head_on_two_threads)->Args({1024, 1024, 128})->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(1.0);

void softmax_against(benchmark::State& state, const std::string& peer, std::int64_t rows,
                     const std::function<void(std::vector<double>&)>& work, std::int64_t peer_rows) {
  const std::int64_t n = state.range(0);
  Random random(2, static_cast<std::uint64_t>(n));
  const Problem problem = test::softmax(Format::f32, rows, n, [&] { return 4.0 * random.normal(); });
  std::vector<double> x;
  x.reserve(static_cast<std::size_t>(peer_rows * n));
  for (std::int64_t j = 0; j < peer_rows * n; ++j) x.push_back(std::get<SoftmaxProblem>(problem).x.at({j / n, j % n}));
  state.SetLabel(peer);
  by_turns(
      state, [&] { certify(problem); }, [&] { work(x); }, static_cast<double>(peer_rows) / static_cast<double>(rows));
  state.counters["oracle_Gelem/s"] = static_cast<double>(rows * n) / (1e6 * state.counters["oracle_ms"]);
}

void softmax_against_libm(benchmark::State& state) {
  std::vector<double> out;
  const std::int64_t n = state.range(0);
  const auto work = [&](const std::vector<double>& x) {
    out = x;
    for (std::size_t first = 0; first < out.size(); first += static_cast<std::size_t>(n)) {
      double* const row = out.data() + first;
      const double maximum = *std::max_element(row, row + n);
      for (std::int64_t j = 0; j < n; ++j) row[j] -= maximum;
      peers::libm_exp(row, n);
      double total = 0.0;
      for (std::int64_t j = 0; j < n; ++j) total += row[j];
      for (std::int64_t j = 0; j < n; ++j) row[j] /= total;
    }
    benchmark::DoNotOptimize(out.data());
  };
  softmax_against(state, "peer: double, C library exp, no radius", 16, work, 16);
}
BENCHMARK(softmax_against_libm)->Arg(64)->Arg(1024)->Arg(65536)->UseManualTime()->Unit(benchmark::kMicrosecond);

void softmax_against_mpfr256(benchmark::State& state) {
  const auto work = [&](const std::vector<double>& x) {
    benchmark::DoNotOptimize(peers::mpfr_softmax(x.data(), state.range(0)));
  };
  softmax_against(state, "peer: Boost mpfr 256 bit, 1 row, times 16", 16, work, 1);
}
BENCHMARK(softmax_against_mpfr256)->Arg(1024)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(50);

}  // namespace
}  // namespace flashproof
