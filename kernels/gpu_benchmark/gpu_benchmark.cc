// Speed of the kernels on a GPU, native math and det, against the device's own copy bandwidth. Random data in device
// memory; a launch is timed by events; every benchmark is the median of its repetitions. peers.py measures PyTorch's
// kernels at the same shapes, table.py puts both side by side.
//   softmax    2 · rows · cols elements moved per second
//   merge      (n + 1) · rows · dv elements moved per second
//   decode     the bytes of k and v per second, one query per sequence and head
//   attention  4 · B · H · Sq · Sk · d floating-point operations per second, half of them if causal
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/gpu_benchmark/device.h"
#include "kernels/run/run.h"
#include "reference/system/error.h"

namespace flashproof::gpu_benchmark {
namespace {

struct Workload {
  std::string name;  // problem/shape
  Problem problem;
  double bytes = 0, operations = 0;  // of one launch; the one that counts is not 0
};

double size(Format format, std::int64_t elements) { return static_cast<double>(bytes_of(format) * elements); }

std::vector<Workload> softmax_workloads(Format format) {
  std::vector<Workload> all;
  for (const auto& [rows, cols] :
       {std::pair{65536, 1024}, {32768, 4096}, {8192, 32768}, {2048, 131072}, {256, 1048576}}) {
    SoftmaxProblem p;
    p.x = shape_only(format, {rows, cols});
    p.plan = ChunkPlan::uniform(cols, 1024);
    all.push_back({"softmax/" + std::to_string(rows) + "x" + std::to_string(cols), p,
                   2 * size(format, std::int64_t{rows} * cols)});
  }
  return all;
}

std::vector<Workload> merge_workloads(Format format) {
  std::vector<Workload> all;
  for (const int states : {2, 8}) {
    const std::int64_t rows = std::int64_t{1} << 20;
    const std::int64_t width = 128;
    MergeProblem p;
    p.o = shape_only(format, {states, rows, width});
    p.lse = shape_only(Format::f32, {states, rows});
    p.order.resize(static_cast<std::size_t>(states));
    std::iota(p.order.begin(), p.order.end(), 0);
    all.push_back({"merge/" + std::to_string(states) + "x" + std::to_string(rows) + "x128", p,
                   size(format, (states + 1) * rows * width)});
  }
  return all;
}

AttentionProblem attention(Format format, std::int64_t batch, std::int64_t heads, std::int64_t queries,
                           std::int64_t keys, std::int64_t dim, std::int64_t chunk) {
  AttentionProblem p;
  p.q = shape_only(format, {batch, heads, queries, dim});
  p.k = shape_only(format, {batch, heads, keys, dim});
  p.v = p.k;
  p.scale = dim == 64 ? 0.125F : 0.08838835F;  // 1/sqrt(d)
  p.plan = ChunkPlan::uniform(keys, chunk);
  return p;
}

std::vector<Workload> attention_workloads(Format format) {
  std::vector<Workload> all;
  for (const bool causal : {false, true}) {
    for (const auto& [heads, length, dim] : {std::tuple{16, 8192, 128}, {16, 16384, 64}}) {
      AttentionProblem p = attention(format, 2, heads, length, length, dim, 64);
      p.causal = causal;
      const double operations = 4.0 * 2 * heads * length * length * dim * (causal ? 0.5 : 1);
      all.push_back({"attention/2x" + std::to_string(heads) + "x" + std::to_string(length) + "x" + std::to_string(dim) +
                         (causal ? "/causal" : "/full"),
                     p, 0, operations});
    }
  }
  AttentionProblem decode = attention(format, 8, 32, 1, 65536, 128, 256);
  all.push_back({"decode/8x32x65536x128", decode, size(format, 2 * 8 * 32 * 65536LL * 128)});
  return all;
}

std::vector<Workload> workloads(ProblemKind problem, Format format) {
  switch (problem) {
    case ProblemKind::softmax:
      return softmax_workloads(format);
    case ProblemKind::merge:
      return merge_workloads(format);
    default:
      return attention_workloads(format);
  }
}

/// What is worth seconds of a GPU: id and the workloads whose name begins so.
struct Chosen {
  const char* id;
  const char* workload;
};
constexpr Chosen kChosen[] = {
    {"softmax.warp_per_row.hardened", "softmax/"},
    {"softmax.fused_row.hardened", "softmax/"},
    {"softmax.split_row.hardened", "softmax/"},
    {"softmax.online_two_pass.hardened", "softmax/"},
    {"softmax.three_pass.hardened", "softmax/"},
    {"softmax.online_block.hardened", "softmax/"},
    {"merge.nway.hardened", "merge/"},
    {"merge.pairwise_stable.hardened", "merge/2x"},
    {"attention.mma_f16.hardened", "attention/"},
    {"attention.mma_bf16.hardened", "attention/"},
    {"attention.split_kv.hardened", "decode/"},
    {"attention.fused.hardened", "attention/2x16x8192x128/full"},
};

void measure(benchmark::State& state, const std::function<void()>& call, double bytes, double operations) {
  for (int warm = 0; warm < 3; ++warm) seconds_of(call);
  for (auto _ : state) state.SetIterationTime(seconds_of(call));
  const auto rate = [](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (bytes > 0) state.counters["TB/s"] = rate(bytes / 1e12);
  if (operations > 0) state.counters["TFLOP/s"] = rate(operations / 1e12);
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.05)
      ->Repetitions(5)
      ->DisplayAggregatesOnly(true);  // --benchmark_out has every repetition, for compare --bench
}

void add_kernel(const Kernel& kernel, const Launch& launch, Math math, Format format, const Workload& workload) {
  const std::string label = std::string(kernel.id) + "/" + std::string(name(math)) + "/" +
                            std::string(info(format).name) + "/" + workload.name;
  add(label, [&kernel, launch, workload](benchmark::State& state) {
    try {
      const Prepared prepared(kernel, launch, workload.problem);
      measure(state, [&] { prepared.launch(); }, workload.bytes, workload.operations);
    } catch (const UsageError& refusal) {
      state.SkipWithError(refusal.what());
    }
  });
}

void add_all() {
  add("copy", [](benchmark::State& state) {
    Buffer buffer(std::int64_t{2} << 30);
    fill(buffer, Format::f32, 1);
    measure(state, [&] { copy_halves(buffer); }, static_cast<double>(buffer.bytes()), 0);
  });
  for (const Chosen& chosen : kChosen) {
    const Kernel* kernel = find_kernel(chosen.id);
    if (kernel == nullptr) throw InfrastructureError(std::string("no kernel ") + chosen.id);
    for (const Format format : kernel->formats) {
      for (const Workload& workload : workloads(kernel->problem, format)) {
        if (!workload.name.starts_with(chosen.workload)) continue;
        if (kernel->has_native) add_kernel(*kernel, kernel->native_launch, Math::native, format, workload);
        if (kernel->has_cuda) add_kernel(*kernel, kernel->cuda_launch, Math::det, format, workload);
      }
    }
  }
}

}  // namespace
}  // namespace flashproof::gpu_benchmark

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  std::string why;
  if (flashproof::cuda_devices(&why) == 0) {
    std::fprintf(stderr, "gpu_benchmark: no usable GPU: %s\n", why.c_str());
    return 4;
  }
  try {
    benchmark::AddCustomContext("device", flashproof::gpu_benchmark::device_line());
    flashproof::gpu_benchmark::add_all();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_benchmark: %s\n", error.what());
    return 3;
  }
  return 0;
}
