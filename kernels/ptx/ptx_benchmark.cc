// The same kernels on fibers and as PTX: launches, and what compiling costs.
#include <benchmark/benchmark.h>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/jit.h"
#include "kernels/ptx/test/own_run.h"
#include "kernels/run/run.h"
#include "reference/problem/random.h"

namespace flashproof::ptx {
namespace {

Problem softmax(std::int64_t rows, std::int64_t cols) {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {rows, cols});
  Random random(1, 0);
  for (std::int64_t i = 0; i < p.x.elements(); ++i) p.x.set_bits(i, encode(Format::f32, random.normal()));
  p.plan = ChunkPlan::uniform(cols, 1024);
  return p;
}

Problem attention(std::int64_t queries, std::int64_t keys, std::int64_t d, Format format = Format::f32) {
  AttentionProblem p;
  p.q = Tensor::dense(format, {1, 1, queries, d});
  p.k = Tensor::dense(format, {1, 1, keys, d});
  p.v = Tensor::dense(format, {1, 1, keys, d});
  Random random(1, 0);
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) {
    for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->set_bits(i, encode(format, random.normal()));
  }
  p.scale = 0.125F;
  p.plan = ChunkPlan::uniform(keys, 64);
  return p;
}

OwnKernels& target() {
  static OwnKernels made(FLASHPROOF_PTX_FOLDER);
  return made;
}

void launches(benchmark::State& state, const char* id, const Problem& problem, bool ptx) {
  const Kernel& kernel = *find_kernel(id);
  if (ptx) run_as_ptx(target(), kernel, problem);  // compiles
  const std::uint64_t before = target().instructions();
  for (auto _ : state) {
    Output output = ptx ? run_as_ptx(target(), kernel, problem) : run(kernel, problem);
    benchmark::DoNotOptimize(output);
  }
  if (ptx)
    state.counters["instructions/s"] =
        benchmark::Counter(static_cast<double>(target().instructions() - before), benchmark::Counter::kIsRate);
}

void compiling(benchmark::State& state) {
  const Module module = parse_file(FLASHPROOF_PTX_FOLDER "/softmax_online_two_pass.ptx");
  const Translation made = translate(module, module.entries.front());
  for (auto _ : state) benchmark::DoNotOptimize(compile(made.ir));
  state.counters["s/1000 instructions"] =
      benchmark::Counter(static_cast<double>(made.flow.entry.instructions.size()) / 1000,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

const char* const kSoftmax = "softmax.online_two_pass.hardened";
const char* const kAttention = "attention.deferred.hardened";
const char* const kMma = "attention.mma_f16.hardened";
BENCHMARK_CAPTURE(launches, softmax_64x1024_fibers, kSoftmax, softmax(64, 1024), false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(launches, softmax_64x1024_ptx, kSoftmax, softmax(64, 1024), true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(launches, attention_16x64x32_fibers, kAttention, attention(16, 64, 32), false)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(launches, attention_16x64x32_ptx, kAttention, attention(16, 64, 32), true)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(launches, mma_128x256x64_fibers, kMma, attention(128, 256, 64, Format::f16), false)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(launches, mma_128x256x64_ptx, kMma, attention(128, 256, 64, Format::f16), true)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(compiling)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flashproof::ptx
