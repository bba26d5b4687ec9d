// n states with o = ±1 and lse = 1e5 + U(−3, 3): |Δo| of every order of merging, the largest of 32 problems of 8 rows.
#include <fmt/format.h>

#include "reference/problem/random.h"
#include "reports/experiments/experiments.h"
#include "reports/experiments/measure.h"

namespace flashproof {
namespace {

using experiment::Errors;

constexpr std::int64_t kRows = 8;
constexpr int kProblems = 32;

/// (o, lse) states, or the same as (m, l, O) with l = 1 and O = o.
MergeProblem problem_of(Random& random, std::int64_t states, bool sums) {
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {states, kRows, 1});
  p.lse = Tensor::dense(Format::f32, {states, kRows});
  if (sums) p.l = Tensor::dense(Format::f32, {states, kRows});
  for (std::int64_t c = 0; c < states; ++c) {
    p.order.push_back(static_cast<std::int32_t>(c));
    for (std::int64_t r = 0; r < kRows; ++r) {
      p.lse.set({c, r}, 1e5 + random.uniform(-3, 3));
      p.o.set({c, r, 0}, random.chance(0.5) ? 1 : -1);
      if (sums) p.l.set({c, r}, 1);
    }
  }
  return p;
}

struct Order {
  const char* name;
  Reduction reduction;
  MergeWeights weights;
};

}  // namespace

std::string merge_orders(std::uint64_t seed) {
  constexpr Order kOrders[] = {
      {"sequential, stable weights", Reduction::pairwise_fold, MergeWeights::stable},
      {"sequential, ring attention's update", Reduction::pairwise_fold, MergeWeights::running},
      {"balanced tree, stable weights", Reduction::pairwise_tree, MergeWeights::stable},
      {"flat, shifted and divided", Reduction::flat, MergeWeights::shifted},
      {"flat, division-free e^{λ_c−λ}", Reduction::flat, MergeWeights::division_free},
      {"sequential, (m, l, O) states", Reduction::pairwise_fold, MergeWeights::max_sum},
      {"flat, (m, l, O) states", Reduction::flat, MergeWeights::max_sum},
  };
  std::string table = "| order | n = 2 | 16 | 128 | 1024 | best err/bound |\n|---|---|---|---|---|---|\n";
  for (const Order& order : kOrders) {
    table += fmt::format("| {} ", order.name);
    double ratio = 0;
    for (const std::int64_t states : {2, 16, 128, 1024}) {
      Random random(seed, static_cast<std::uint64_t>(states));
      Errors errors;
      for (int i = 0; i < kProblems; ++i) {
        Arithmetic a{.reduction = order.reduction, .exp_error = 0x1p-22, .log_error = 0x1p-22};
        a.merge_weights = order.weights;
        errors.take(experiment::measure(problem_of(random, states, order.weights == MergeWeights::max_sum), a));
      }
      ratio = std::max(ratio, errors.largest_ratio());
      table += fmt::format("| {:.1e} ", errors.largest());
    }
    table += fmt::format("| {:.2f} |\n", ratio);
  }
  return table;
}

}  // namespace flashproof
