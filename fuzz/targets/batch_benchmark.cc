// Judged cases per second of a search in batches, from inputs to scores: recipes made, answered by few launches, truth, bound and
// verdict of every element. On the CPU executor always, on a GPU where there is one.
#include <benchmark/benchmark.h>

#include <thread>

#include "fuzz/batch/memory.h"
#include "fuzz/targets/one_kernel.h"
#include "kernels/run/run.h"

namespace flashproof {
namespace {

// Eight families in turns; descending and staircase move the maximum, the edges overflow and underflow.
std::vector<FuzzInput> inputs_of(ProblemKind problem, const char* keys, std::size_t count) {
  std::vector<FuzzInput> inputs;
  const auto families = {"normal",       "huge",          "descending",  "overflow_edge",
                         "sum_overflow", "deep_negative", "mask_random", "subnormal"};
  while (inputs.size() < count) {
    for (const char* family : families) {
      FuzzInput input;
      input.origin.spec =
          parse_case_spec(std::string(name(problem)) + ":" + family + ":" + std::to_string(inputs.size()) + ":" + keys);
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

void judge_batches(benchmark::State& state, ProblemKind problem, const char* kernel, const char* keys,
                   Executor executor, int threads) {
  const std::vector<FuzzInput> inputs = inputs_of(problem, keys, static_cast<std::size_t>(state.range(0)));
  const TargetSubject subject{kernel, "hardened", Format::f32};
  Team team(threads);
  std::uint64_t judged = 0, climbed = 0;
  for (auto _ : state) {
    for (const auto& result : run_inputs(subject, inputs, {executor, &team}).results) {
      if (!result || !result->score.ran) {
        state.SkipWithError("an input did not run");
        return;
      }
      ++judged;
      climbed += result->score.climbed;
    }
  }
  state.counters["cases"] = benchmark::Counter(static_cast<double>(judged), benchmark::Counter::kIsRate);
  state.counters["climbed"] = static_cast<double>(climbed) / static_cast<double>(std::max<std::uint64_t>(judged, 1));
}

void add(const char* name, ProblemKind problem, const char* kernel, const char* keys) {
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for (const Executor executor : {Executor::cpu, Executor::cuda}) {
    if (executor == Executor::cuda && (cuda_devices() == 0 || !find_kernel(kernel)->has_cuda)) continue;
    const std::string full = std::string("batch/") + name + "/" + std::string(flashproof::name(executor)) +
                             "/threads:" + std::to_string(threads);
    benchmark::RegisterBenchmark(
        full.c_str(), [=](benchmark::State& state) { judge_batches(state, problem, kernel, keys, executor, threads); })
        ->ArgName("batch")
        ->Arg(1024)
        ->Arg(4096)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

const bool kAdded = [] {
  keep_freed_memory();  // as a target does
  add("softmax_1x1024", ProblemKind::softmax, "softmax.online_block.hardened",
      "rows=1,cols=1024,chunk=64,order=forward,layout=dense");
  add("merge_n8_d128", ProblemKind::merge, "merge.nway.hardened",
      "n=8,rows=1,dv=128,form=sum,order=forward,layout=dense");
  add("attention_16x64x32", ProblemKind::attention, "attention.deferred.hardened",
      "b=1,hq=1,hk=1,sq=16,sk=64,d=32,dv=32,causal=0,scale=0.125,chunk=16,order=forward,layout=dense");
  return true;
}();

}  // namespace
}  // namespace flashproof
