// Speed of kernels on the CPU executor, one core: the kernel alone, arguments made beforehand.
//   attention   runs/s at 16 queries x 64 keys x d = 32, chunks of 32, 128 threads, f32
//   softmax     elements/s at 16 rows x 4096 columns, 256 threads where the block size is free, f32
//   merge       elements/s at 8 states x 64 rows x dv = 128, f32
#include <benchmark/benchmark.h>

#include "kernels/run/make_args.h"
#include "kernels/run/run.h"
#include "kernels/run/run_cuda.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

void fill(Tensor& tensor, Random& random) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.set_bits(i, encode(tensor.format, random.normal()));
  }
}

AttentionProblem attention_problem() {
  Random random(1, 0);
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 16, 32});
  p.k = Tensor::dense(Format::f32, {1, 1, 64, 32});
  p.v = Tensor::dense(Format::f32, {1, 1, 64, 32});
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) {
    fill(*tensor, random);
  }
  p.scale = 0.17677669F;
  p.plan = ChunkPlan::uniform(64, 32);
  return p;
}

SoftmaxProblem softmax_problem() {
  Random random(2, 0);
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {16, 4096});
  fill(p.x, random);
  p.plan = ChunkPlan::uniform(4096, 1024);
  return p;
}

MergeProblem merge_problem() {
  Random random(3, 0);
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {8, 64, 128});
  p.lse = Tensor::dense(Format::f32, {8, 64});
  fill(p.o, random);
  fill(p.lse, random);
  p.order = {0, 1, 2, 3, 4, 5, 6, 7};
  return p;
}

template <class P>
void run_alone(benchmark::State& state, const char* id, const P& problem, int threads, double elements) {
  const Kernel* kernel = find_kernel(id);
  const OutputShape shape = output_shape(Problem(problem));
  Output out{Tensor::dense(Format::f32, {shape.rows, shape.width}), Tensor::dense(Format::f32, {shape.rows})};
  auto args = make_args(
      problem, out, [](const void* data, std::size_t) { return data; }, [](Tensor& tensor) { return tensor.data(); });
  if constexpr (requires { args.threads; }) {
    args.threads = threads;
  }
  Tensor space = workspace_of(*kernel, Problem(problem));
  args.workspace = {space.data(), static_cast<std::int64_t>(space.storage.size())};
  const auto launch = std::get<void (*)(const decltype(args)&, Stream)>(kernel->launch);
  for (auto _ : state) {
    launch(args, Stream{});
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  if (elements > 0) {
    state.counters["elements/s"] = benchmark::Counter(runs * elements, benchmark::Counter::kIsRate);
  } else {
    state.counters["runs/s"] = benchmark::Counter(runs, benchmark::Counter::kIsRate);
  }
}

void register_all() {
  for (const char* id : {"attention.deferred.hardened", "attention.online_chunk.hardened"}) {
    benchmark::RegisterBenchmark(id, [id](benchmark::State& s) { run_alone(s, id, attention_problem(), 0, 0); });
  }
  for (const char* id :
       {"softmax.eager_safe.hardened", "softmax.fused_row.hardened", "softmax.online_block.hardened",
        "softmax.online_chunk.hardened", "softmax.online_two_pass.hardened", "softmax.split_row.hardened"}) {
    benchmark::RegisterBenchmark(id,
                                 [id](benchmark::State& s) { run_alone(s, id, softmax_problem(), 256, 16 * 4096); });
  }
  benchmark::RegisterBenchmark("merge.pairwise_stable.hardened", [](benchmark::State& s) {
    run_alone(s, "merge.pairwise_stable.hardened", merge_problem(), 0, 8 * 64 * 128);
  });
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  flashproof::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
