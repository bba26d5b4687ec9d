// How many inputs a second a fuzz target takes, through the entry that the engine calls: bytes, case, kernel, truth, bound,
// verdict, feedback. With the engine's counters and without, which is what their guidance costs.
//
//   items_per_second   executions
//   escalated          rows of the truth that needed more than the first tier, per execution
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "fuzz/batch/memory.h"
#include "fuzz/targets/one_kernel.h"
#include "fuzz/targets/session.h"
#include "reference/problem/case.h"

namespace flashproof {
namespace {

template <ProblemKind problem>
Target target() {
  return {name(problem), [] { return subjects_of(problem); }, run_input, minimise_run, problem_of_kernel};
}

/// The same shape with other numbers: what a fuzzer sees changes with every execution.
std::vector<std::vector<std::uint8_t>> inputs(const std::string& recipe) {
  constexpr int kInputs = 64;
  std::vector<std::vector<std::uint8_t>> list;
  for (int seed = 0; seed < kInputs; ++seed) {
    FuzzInput input;
    input.origin.spec = parse_case_spec(fmt::format(fmt::runtime(recipe), seed));
    const auto bytes = encode_input(input);
    if (!bytes) throw std::logic_error(recipe + ": has no bytes");
    list.push_back(*bytes);
  }
  return list;
}

void run(benchmark::State& state, const Target& target, const std::string& kernel, const std::string& recipe,
         Guide guide) {
  SessionOptions options;
  options.kernel = kernel;
  options.format = "f32";
  options.guide = guide;
  Session session(target, options);
  const auto list = inputs(recipe);
  std::size_t next = 0;
  for (auto _ : state) {
    if (session.run(list[next++ % list.size()]) != 0) {
      state.SkipWithError("an input stands for no case");
      return;
    }
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["escalated"] =
      static_cast<double>(session.totals().escalated) / static_cast<double>(session.totals().judged);
}

const bool kAsATarget = (keep_freed_memory(), true);

void softmax(benchmark::State& state, Guide guide) {
  run(state, target<ProblemKind::softmax>(), "softmax.online_two_pass.hardened",
      "softmax:normal:{}:rows=16,cols=64,layout=dense", guide);
}
void merge(benchmark::State& state, Guide guide) {
  run(state, target<ProblemKind::merge>(), "merge.pairwise_stable.hardened",
      "merge:normal:{}:n=8,rows=16,dv=32,layout=dense", guide);
}
void attention(benchmark::State& state, Guide guide) {
  run(state, target<ProblemKind::attention>(), "attention.online_chunk.hardened",
      "attention:normal:{}:b=1,hq=1,hk=1,sq=16,sk=64,d=32,dv=32,chunk=16,layout=dense", guide);
}

BENCHMARK_CAPTURE(softmax, 16x64_f32_counters, Guide::counters)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(softmax, 16x64_f32_none, Guide::none)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(merge, 8x16x32_f32_counters, Guide::counters)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(merge, 8x16x32_f32_none, Guide::none)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(attention, 16x64x32_f32_counters, Guide::counters)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(attention, 16x64x32_f32_none, Guide::none)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace flashproof
