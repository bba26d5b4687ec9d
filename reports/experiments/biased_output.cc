// arXiv 2510.04212: keys that tie for the maximum have p̄ = 1 exactly; with v of one sign in one binade their sum lies on
// the halfway points of bf16, and the small weights of the other keys, of the same sign, push it off them the same way
// every time. That needs the sum before its division: once in f32 and divided (FlashAttention-2), once stored in bf16
// un-normalised and divided after. Measured: the mean signed error of o in bf16, in units of u·Σp|v|, and of
// D = rowsum(dO o) for dO = 1, in units of its own largest possible rounding u Σ|o|.
#include <fmt/format.h>

#include "reference/bound/declare/presets.h"
#include "reference/problem/random.h"
#include "reports/experiments/experiments.h"
#include "reports/experiments/measure.h"

namespace flashproof {
namespace {

constexpr std::int64_t kRows = 256, kKeys = 64, kColumns = 64;

AttentionProblem problem_of(Random& random, int ties, bool one_signed) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::bf16, {kRows, 1, 1, 1});
  p.k = Tensor::dense(Format::bf16, {kRows, 1, kKeys, 1});
  p.v = Tensor::dense(Format::bf16, {kRows, 1, kKeys, kColumns});
  for (std::int64_t b = 0; b < kRows; ++b) {
    p.q.set({b, 0, 0, 0}, 1);
    for (std::int64_t j = 0; j < kKeys; ++j) {
      p.k.set({b, 0, j, 0}, j < ties ? 0 : -12 - random.uniform(0, 4));
      for (std::int64_t c = 0; c < kColumns; ++c) {
        const double sign = one_signed || random.chance(0.5) ? -1 : 1;
        p.v.set({b, 0, j, c}, sign * random.uniform(1, 2));
      }
    }
  }
  p.plan = ChunkPlan::uniform(kKeys, kKeys / 2);
  return p;
}

}  // namespace

std::string biased_output(std::uint64_t seed) {
  std::string table =
      "| Σ p v | keys at the maximum | v | mean signed error of o / (u Σp\\|v\\|) | of D / (u Σ\\|dO o\\|) |\n"
      "|---|---|---|---|---|\n";
  Arithmetic stored = presets::kFa2Sm80Bf16;  // two parts, whose O is stored before any division
  stored.split = {.parts = 2, .combine = Reduction::flat, .weights = MergeWeights::max_sum, .partial_o = Format::bf16};
  for (const bool in_bf16 : {false, true}) {
    for (const int ties : {1, 2, 4}) {
      for (const bool one_signed : {false, true}) {
        Random random(seed, static_cast<std::uint64_t>(2 * ties + (one_signed ? 1 : 0)));
        const Problem problem = problem_of(random, ties, one_signed);
        const Output output = run_model(problem, in_bf16 ? stored : presets::kFa2Sm80Bf16);
        const Truth truth = compute_truth(problem);
        constexpr double kUnit = 0x1p-8;
        double o_bias = 0, d_bias = 0;
        for (std::int64_t r = 0; r < kRows; ++r) {
          double d_error = 0, d_size = 0;
          for (std::int64_t c = 0; c < kColumns; ++c) {
            const std::int64_t at = r * kColumns + c;
            const Ball& exact = truth.o[static_cast<std::size_t>(at)];
            const double error = signed_error(decode(Format::bf16, output.o.bits(at)), exact);
            o_bias += error / (kUnit * std::fabs(exact.hi));
            d_error += error;  // dO = 1
            d_size += kUnit * std::fabs(exact.hi);
          }
          d_bias += d_error / d_size;
        }
        table += fmt::format("| {} | {} | {} | {:+.3f} | {:+.3f} |\n", in_bf16 ? "in bf16" : "in f32", ties,
                             one_signed ? "negative" : "both signs", o_bias / static_cast<double>(kRows * kColumns),
                             d_bias / static_cast<double>(kRows));
      }
    }
  }
  return table;
}

}  // namespace flashproof
