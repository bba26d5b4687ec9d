// What making and judging a case costs, phase by phase, on one thread and without a kernel: the output is the rounded truth,
// every seventh number one unit beside it. Time per case; the counter `element` is nanoseconds per element of o.
//
//   make     recipe to case
//   truth    the oracle's first tier
//   bound    compute_bound
//   judged   judge() and peaks(): with all statistics
//   screened screen(): what a fuzzer needs of it
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "fuzz/score/screen.h"
#include "kernels/simt/det_math/det_error.h"
#include "properties/generators/family.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

int lanes_of(std::int64_t columns) { return columns > 256 ? 512 : 256; }

// The declarations of softmax.online_block, merge.nway and attention.deferred.
constexpr Arithmetic kSoftmax = {.reduction = Reduction::strided_online,
                                 .exponent = Exponent::scaled_exp2,
                                 .exp_error = kDetExp2Error,
                                 .log_error = kDetLogError,
                                 .lanes_of = lanes_of,
                                 .ending = Ending::multiply_reciprocal};
constexpr Arithmetic kMerge = {.reduction = Reduction::flat,
                               .exp_error = kDetExpError,
                               .log_error = kDetLogError,
                               .merge_weights = MergeWeights::shifted};
constexpr Arithmetic kAttention = {.reduction = Reduction::chunk_deferred,
                                   .exp_error = kDetExpError,
                                   .log_error = kDetLogError,
                                   .tanh_error = kDetTanhError,
                                   .lanes = 8,
                                   .ending = Ending::divide};

struct Shape {
  const char* name;
  ProblemKind problem;
  const char* keys;
  const Arithmetic& arithmetic;
};
const Shape kShapes[] = {
    {"softmax_1x1024", ProblemKind::softmax, "rows=1,cols=1024,chunk=64,order=forward,layout=dense", kSoftmax},
    {"merge_n8_d128", ProblemKind::merge, "n=8,rows=1,dv=128,form=sum,order=forward,layout=dense", kMerge},
    {"attention_16x64x32", ProblemKind::attention,
     "b=1,hq=1,hk=1,sq=16,sk=64,d=32,dv=32,causal=0,scale=0.125,chunk=16,order=forward,layout=dense", kAttention}};

/// Eight families in turns, as in batch_benchmark.
std::vector<CaseSpec> specs_of(const Shape& shape) {
  constexpr int kCases = 64;
  const auto families = {"normal",       "huge",          "descending",  "overflow_edge",
                         "sum_overflow", "deep_negative", "mask_random", "subnormal"};
  std::vector<CaseSpec> specs;
  while (specs.size() < kCases) {
    for (const char* family : families) {
      specs.push_back(parse_case_spec(std::string(name(shape.problem)) + ":" + family + ":" +
                                      std::to_string(specs.size()) + ":" + shape.keys));
    }
  }
  return specs;
}

struct Made {
  Case subject;
  std::unique_ptr<Oracle> oracle;
  Bound bound;
  Output output;
};

Output near_truth(const Problem& problem, const Truth& truth) {
  const Format format = output_format(problem);
  Output output{Tensor::dense(format, {truth.rows, truth.width}), Tensor::dense(Format::f32, {truth.rows})};
  const auto put = [](Tensor& to, const Balls& balls) {
    for (std::size_t i = 0; i < balls.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if ((balls[i].classes & kFinite) == 0) {
        to.set_bits(at, (balls[i].classes & kNaN) != 0      ? nan_bits(to.format)
                        : (balls[i].classes & kPosInf) != 0 ? encode(to.format, HUGE_VAL)
                                                            : encode(to.format, -HUGE_VAL));
        continue;
      }
      const std::uint64_t bits = encode(to.format, balls[i].hi);
      to.set_bits(at, i % 7 == 0 && bits != 0 ? bits ^ 1 : bits);
    }
  };
  put(output.o, truth.o);
  put(output.lse, truth.lse);
  return output;
}

const std::vector<Made>& made_of(const Shape& shape) {
  static std::vector<Made> made[std::size(kShapes)];
  std::vector<Made>& list = made[&shape - kShapes];
  if (!list.empty()) return list;
  for (const CaseSpec& spec : specs_of(shape)) {
    Made one{make_case(spec), nullptr, {}, {}};
    const Oracle first(one.subject.problem);
    one.output = near_truth(one.subject.problem, first.truth());
    one.bound = compute_bound(one.subject.problem, shape.arithmetic);
    list.push_back(std::move(one));
  }
  for (Made& one : list) one.oracle = std::make_unique<Oracle>(one.subject.problem);  // where it stays
  return list;
}

using Phase = std::function<void(const Shape&, const Made&)>;

void measure(benchmark::State& state, const Shape& shape, const Phase& phase) {
  const std::vector<Made>& made = made_of(shape);
  std::size_t next = 0;
  for (auto _ : state) phase(shape, made[next++ % made.size()]);
  state.SetItemsProcessed(state.iterations());
  state.counters["element"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(made.front().bound.o.size()) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

const Contract kContract;

const bool kAdded = [] {
  const std::pair<const char*, Phase> phases[] = {
      {"make",
       [](const Shape&, const Made& m) {
         const Case c = make_case(m.subject.spec);
         benchmark::DoNotOptimize(&c);
       }},
      {"truth",
       [](const Shape&, const Made& m) {
         const Oracle oracle(m.subject.problem);
         benchmark::DoNotOptimize(oracle.truth().rows);
       }},
      {"bound",
       [](const Shape& shape, const Made& m) {
         const Bound bound = compute_bound(m.subject.problem, shape.arithmetic);
         benchmark::DoNotOptimize(&bound);
       }},
      {"judged",
       [](const Shape&, const Made& m) {
         const Truth& truth = m.oracle->truth();
         const Judgement judgement = judge(m.output, truth, m.bound, kContract, 0);
         const Peaks found = peaks(m.output, truth, m.bound, judgement, kContract);
         benchmark::DoNotOptimize(&found);
       }},
      {"screened", [](const Shape&, const Made& m) {
         const Screened found = screen(m.output, m.oracle->truth(), m.bound, kContract);
         benchmark::DoNotOptimize(&found);
       }}};
  for (const Shape& shape : kShapes) {
    for (const auto& [phase, body] : phases) {
      benchmark::RegisterBenchmark((std::string("judging/") + shape.name + "/" + phase).c_str(),
                                   [&shape, body = body](benchmark::State& state) { measure(state, shape, body); })
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace flashproof
