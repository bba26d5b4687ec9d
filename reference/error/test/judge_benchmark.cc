// What judging costs per element of o, 64 x 64 outputs that a good kernel would give: the verdict alone, and the verdict
// with statistics. And one case of 64 queries, 256 keys, d = 64 from inputs to the truth, to the verdicts, and to the
// judgement with statistics: items are cases.
#include <benchmark/benchmark.h>

#include "reference/error/test/scene.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

/// Values, radii and bounds like those of attention: radius 2^-47, B' of a few roundings in f32, the error within it.
Scene good_output(Format format) {
  Random random(1, static_cast<std::uint64_t>(format));
  Scene s = make_scene(64, 64, format);
  for (std::int64_t r = 0; r < 64; ++r) {
    for (std::int64_t c = 0; c < 64; ++c) {
      const double exact = random.normal();
      s.set_true_o(r, c, {exact, 0, 0x1p-47});
      s.bound_o(r, c) = {0x1p-20, 0x1p-21, 0x1p-22, 0x1p-23};
      s.bound.range[static_cast<std::size_t>(s.offset(r, c))] = 8;
      s.set_o(r, c, exact + 0x1p-22 * (2 * random.uniform() - 1));
    }
  }
  return s;
}

void verdict_alone(benchmark::State& state, Format format) {
  const Scene s = good_output(format);
  for (auto _ : state) {
    std::uint64_t passed = 0;
    for (std::int64_t r = 0; r < 64; ++r) {
      for (std::int64_t c = 0; c < 64; ++c) {
        const Element element = element_at(s.output, s.truth, s.bound, Part::o, r, c);
        passed += decide(element, {}).kind == VerdictKind::pass ? 1 : 0;
      }
    }
    if (passed != 64 * 64) state.SkipWithError("an element did not pass");
  }
  state.SetItemsProcessed(state.iterations() * 64 * 64);
}
BENCHMARK_CAPTURE(verdict_alone, f32, Format::f32);
BENCHMARK_CAPTURE(verdict_alone, bf16, Format::bf16);

void with_statistics(benchmark::State& state, Format format) {
  const Scene s = good_output(format);
  for (auto _ : state) benchmark::DoNotOptimize(judge(s.output, s.truth, s.bound, {}, 0));
  state.SetItemsProcessed(state.iterations() * 64 * 64);
}
BENCHMARK_CAPTURE(with_statistics, f32, Format::f32);
BENCHMARK_CAPTURE(with_statistics, bf16, Format::bf16);

/// A 64 x 256 x 64 head and the output that an excellent kernel would give.
struct Certified {
  Problem problem;
  Scene scene;

  explicit Certified(Format format) : scene(good_output(format)) {
    Random random(2, static_cast<std::uint64_t>(format));
    const auto draw = test::normal(random);
    problem = test::attention(format, {.sq = 64, .sk = 256, .d = 64, .dv = 64}, draw, draw, draw);
    const Truth truth = compute_truth(problem);
    for (std::int64_t r = 0; r < 64; ++r) {
      scene.set_lse(r, truth.lse[static_cast<std::size_t>(r)].hi);
      for (std::int64_t c = 0; c < 64; ++c) scene.set_o(r, c, truth.o[static_cast<std::size_t>(scene.offset(r, c))].hi);
    }
  }
};

void certify(benchmark::State& state, Format format) {
  const Certified head(format);
  for (auto _ : state) benchmark::DoNotOptimize(Oracle(head.problem).truth().rows);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(certify, f32, Format::f32);
BENCHMARK_CAPTURE(certify, bf16, Format::bf16);

void certify_and_decide(benchmark::State& state, Format format) {
  const Certified head(format);
  for (auto _ : state) {
    const Oracle oracle(head.problem);
    std::int64_t passed = 0;
    for (const Part part : {Part::o, Part::lse}) {
      for (std::int64_t r = 0; r < 64; ++r) {
        for (std::int64_t c = 0; c < (part == Part::o ? 64 : 1); ++c) {
          const Element element = element_at(head.scene.output, oracle.truth(), head.scene.bound, part, r, c);
          passed += decide(element, {}).kind == VerdictKind::pass ? 1 : 0;
        }
      }
    }
    if (passed != 64 * 65) state.SkipWithError("an element did not pass");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(certify_and_decide, f32, Format::f32);
BENCHMARK_CAPTURE(certify_and_decide, bf16, Format::bf16);

void certify_and_judge(benchmark::State& state, Format format) {
  const Certified head(format);
  for (auto _ : state) {
    Oracle oracle(head.problem);
    const Judgement judgement = judge(head.scene.output, oracle, head.scene.bound, {}, 0);
    if (judgement.worst.kind != VerdictKind::pass) state.SkipWithError(judgement.worst.detail.c_str());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(certify_and_judge, f32, Format::f32);
BENCHMARK_CAPTURE(certify_and_judge, bf16, Format::bf16);

}  // namespace
}  // namespace flashproof
