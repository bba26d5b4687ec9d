// What the door costs: a call of a small softmax through the C ABI beside the same function called directly. Between them lie
// validation, zones around every tensor, poison, the way to another process and back, and the look at all of it afterwards.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <vector>

#include "kernels/plugin/call.h"
#include "kernels/plugin/load.h"

namespace flashproof {
namespace {

void copy_rows(const float* x, std::int64_t elements, std::int64_t rows, float* o, float* lse) {
  for (std::int64_t i = 0; i < elements; ++i) o[i] = x[i];
  for (std::int64_t r = 0; r < rows; ++r) lse[r] = 0;
}

std::int32_t run(const flashproof_call* call) {
  const flashproof_tensor* x = call->softmax->x;
  copy_rows(static_cast<const float*>(flashproof_data(x)), x->shape[0] * x->shape[1], x->shape[0],
            static_cast<float*>(flashproof_data(call->o)), static_cast<float*>(flashproof_data(call->lse)));
  return FLASHPROOF_OK;
}

const LoadedPlugin& library() {
  static const flashproof_kernel declared{sizeof(flashproof_kernel),
                                          "softmax.copy.benchmark",
                                          FLASHPROOF_SOFTMAX,
                                          FLASHPROOF_CPU,
                                          "",
                                          run,
                                          nullptr,
                                          nullptr};
  static const flashproof_kernel* const list[] = {&declared};
  static const flashproof_plugin plugin{FLASHPROOF_PLUGIN_ABI, 0, sizeof(flashproof_plugin), "", "", 1, list};
  static const LoadedPlugin loaded = [] {
    LoadedPlugin here{&plugin, {}};
    std::fegetenv(&here.environment);
    return here;
  }();
  return loaded;
}

Kernel foreign(PluginProcess& process) {
  Kernel kernel;
  kernel.id = "softmax.copy.benchmark";
  kernel.problem = ProblemKind::softmax;
  kernel.formats = kStorageFormats;
  kernel.foreign = [&process](const Problem& problem, const RunOptions& options) {
    return call_plugin(process, {0, "softmax.copy.benchmark", false, false, Returns::both}, problem, options);
  };
  return kernel;
}

SoftmaxProblem problem(std::int64_t rows) {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {rows, 64});
  std::ranges::fill(p.x.storage, std::byte{0});
  p.plan = ChunkPlan::uniform(64, 64);
  return p;
}

void direct(benchmark::State& state) {
  const SoftmaxProblem p = problem(state.range(0));
  std::vector<float> o(static_cast<std::size_t>(p.x.elements())), lse(static_cast<std::size_t>(p.x.shape[0]));
  for (auto _ : state) {
    copy_rows(reinterpret_cast<const float*>(p.x.data()), p.x.elements(), p.x.shape[0], o.data(), lse.data());
    benchmark::DoNotOptimize(o.data());
    benchmark::ClobberMemory();
  }
}

void through_the_door(benchmark::State& state) {
  PluginProcess process(library, 30);
  const Kernel kernel = foreign(process);
  const Problem p = problem(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(run(kernel, p));
}

BENCHMARK(direct)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK(through_the_door)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace flashproof
