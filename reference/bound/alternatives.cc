#include "reference/bound/alternatives.h"

#include <algorithm>

namespace flashproof {
namespace {

/// Without chunks of its own.
Arithmetic whole_row(Arithmetic a, Reduction reduction) {
  a.reduction = reduction;
  a.block = 0;
  a.visits = BlockOrder::plan;
  return a;
}

Arithmetic fused(Arithmetic a) {
  a.exponent = Exponent::fused;
  return a;
}

std::vector<Arithmetic> of_attention(const Arithmetic& declared) {
  Arithmetic chunks = declared;
  chunks.reduction = Reduction::chunk_deferred;
  Arithmetic row = whole_row(declared, Reduction::row_resident);
  row.unit = ScoreUnit::natural;
  if (row.exponent != Exponent::accurate) row.exponent = Exponent::scaled_exp2;
  row.lazy_log2 = 0;
  row.running_lanes = row.weights.summed = false;
  row.split = {};
  if (declared.exponent != Exponent::unfused) return {chunks, row};
  return {chunks, fused(chunks), row};
}

std::vector<Arithmetic> of_softmax(const Arithmetic& declared) {
  Arithmetic chunks = declared;
  chunks.reduction = Reduction::chunked_online;
  const Arithmetic row = whole_row(declared, Reduction::two_pass);
  if (declared.exponent != Exponent::unfused) return {chunks, row};
  return {chunks, fused(chunks), row};
}

std::vector<Arithmetic> of_merge(const Arithmetic& declared) {
  using enum MergeWeights;
  const auto made = [&](Reduction reduction, MergeWeights weights) {
    Arithmetic a = declared;
    a.reduction = reduction;
    a.merge_weights = weights;
    if (weights == division_free || weights == running) a.ending = Ending::divide;  // there is none
    return a;
  };
  return {made(Reduction::flat, shifted),          made(Reduction::flat, division_free),
          made(Reduction::flat, max_sum),          made(Reduction::pairwise_fold, stable),
          made(Reduction::pairwise_fold, running), made(Reduction::pairwise_fold, max_sum)};
}

void keep_larger(const ElementBound& other, ElementBound& bound) {
  const double probable = std::max(bound.probable, other.probable);
  if (other.total() > bound.total()) bound = other;
  bound.probable = probable;
}

}  // namespace

std::vector<Arithmetic> alternatives(const Arithmetic& arithmetic, ProblemKind problem) {
  if (arithmetic.reduction != Reduction::any) return {arithmetic};
  if (problem == ProblemKind::softmax) return of_softmax(arithmetic);
  return problem == ProblemKind::merge ? of_merge(arithmetic) : of_attention(arithmetic);
}

namespace bound {

void join(const Bound& other, Bound& bound) {
  for (std::size_t i = 0; i < bound.o.size(); ++i) {
    keep_larger(other.o[i], bound.o[i]);
    bound.accumulator_outside[i] |= other.accumulator_outside[i];
  }
  for (std::size_t r = 0; r < bound.lse.size(); ++r) {
    keep_larger(other.lse[r], bound.lse[r]);
    bound.domain[r].require(other.domain[r].nearest);
    bound.domain[r].require(other.domain[r].form);
  }
  bound.refined += other.refined;
}

}  // namespace bound
}  // namespace flashproof
