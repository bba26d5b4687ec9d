// One query, 1024 keys in chunks of 64, v = ±1 by whole chunks. Scores lie within 7 of a large common offset; the maximum
// either rises from chunk to chunk or stands in the first one.
#include <fmt/format.h>

#include "reference/problem/random.h"
#include "reports/experiments/experiments.h"
#include "reports/experiments/measure.h"

namespace flashproof {
namespace {

using experiment::Errors;

constexpr std::int64_t kKeys = 1024;
constexpr int kChunk = 64;
constexpr int kProblems = 64;

/// Scores q·k = k exactly: q = 1, scale = 1, d = 1.
AttentionProblem problem_of(Random& random, double offset, bool rising) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.k = Tensor::dense(Format::f32, {1, 1, kKeys, 1});
  p.v = Tensor::dense(Format::f32, {1, 1, kKeys, 1});
  p.q.set({0, 0, 0, 0}, 1);
  double sign = 1;
  for (std::int64_t j = 0; j < kKeys; ++j) {
    const std::int64_t chunk = j / kChunk;
    const double ramp = 6.0 * static_cast<double>(chunk * kChunk) / static_cast<double>(kKeys);
    const double score = offset + (rising ? ramp : -ramp) + random.uniform(-1, 0);
    p.k.set({0, 0, j, 0}, score);
    if (j % kChunk == 0) sign = random.chance(0.5) ? 1 : -1;
    p.v.set({0, 0, j, 0}, sign);
  }
  p.plan = ChunkPlan::uniform(kKeys, kChunk);
  return p;
}

Arithmetic declared(Exponent exponent) {
  Arithmetic a{.reduction = Reduction::chunk_deferred};
  a.exponent = exponent;
  a.unit = ScoreUnit::raw;
  a.lse_form = LseForm::scaled_max_plus_log;
  a.exp_error = 0x1p-22;
  a.log_error = 0x1p-22;
  a.lanes = 4;
  return a;
}

}  // namespace

std::string fused_exponent(std::uint64_t seed) {
  std::string table =
      "| \\|m\\| | fused, maximum rises: median, largest \\|Δo\\| | in units of u·\\|m\\| | err/bound | fused, maximum "
      "in chunk 0 | "
      "subtract, then scale, maximum rises |\n|---|---|---|---|---|---|\n";
  for (const double m : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    Random random(seed, static_cast<std::uint64_t>(m));
    Errors fused, fused_falling, subtracted;
    for (int i = 0; i < kProblems; ++i) {
      const AttentionProblem rising = problem_of(random, m, true), falling = problem_of(random, m, false);
      fused.take(experiment::measure(rising, declared(Exponent::fused)));
      fused_falling.take(experiment::measure(falling, declared(Exponent::fused)));
      subtracted.take(experiment::measure(rising, declared(Exponent::subtract_then_scale)));
    }
    std::vector<double> magnitude;
    magnitude.reserve(fused.o.size());
    for (const double e : fused.o) magnitude.push_back(std::fabs(e));
    table += fmt::format("| {:.0e} | {:.1e}, {:.1e} | {:.2f} | {:.2f} | {:.1e} | {:.1e} |\n", m,
                         experiment::median(magnitude), fused.largest(), fused.largest() / (m * 0x1p-24),
                         fused.largest_ratio(), fused_falling.largest(), subtracted.largest());
  }
  return table;
}

}  // namespace flashproof
