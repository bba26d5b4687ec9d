#include "reference/bound/alternatives.h"

#include <algorithm>
#include <variant>

#include "reference/bound/declare/declaration.h"

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

Arithmetic natural(Arithmetic a) {
  a.unit = ScoreUnit::natural;
  a.query_scaled = true;
  return a;
}

Arithmetic chained(Arithmetic a) {
  a.dot = a.values = {.chains = 1};
  return a;
}

std::vector<Arithmetic> of_attention(const Arithmetic& declared) {
  Arithmetic chunks = declared;
  chunks.reduction = Reduction::chunk_deferred;
  Arithmetic row = natural(whole_row(declared, Reduction::row_resident));
  if (row.exponent != Exponent::accurate) row.exponent = Exponent::scaled_exp2;
  row.lazy_log2 = 0;
  row.running_lanes = row.weights.summed = false;
  row.split = {};
  std::vector<Arithmetic> list = {chunks, natural(chunks), row};
  if (declared.exponent == Exponent::unfused) list.push_back(fused(chunks));
  if (declared.values.unit.k > 0 || declared.dot.unit.k > 0) {
    for (std::size_t i = 0, forms = list.size(); i < forms; ++i) list.push_back(chained(list[i]));
  }
  return list;
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

std::vector<std::optional<Arithmetic>> alternatives_in_place(const Arithmetic& arithmetic, const Problem& problem) {
  std::vector<std::optional<Arithmetic>> list;
  for (const Arithmetic& a : alternatives(arithmetic, kind_of(problem))) list.emplace_back(a);
  if (arithmetic.reduction != Reduction::any) return list;
  if (const auto* merge = std::get_if<MergeProblem>(&problem); merge != nullptr) {
    for (std::optional<Arithmetic>& a : list) {
      if (!merge->joins.empty() && a->reduction == Reduction::pairwise_fold) a->reduction = Reduction::pairwise_tree;
      if (merge->has_l() && a->merge_weights != MergeWeights::max_sum) a.reset();
    }
  }
  if (const auto* attention = std::get_if<AttentionProblem>(&problem); attention != nullptr) {
    const bool raw = raw_scores_refused(*attention).empty();
    for (std::optional<Arithmetic>& a : list) a->unit = raw ? a->unit : ScoreUnit::natural;
  }
  return list;
}

std::vector<Arithmetic> alternatives(const Arithmetic& arithmetic, const Problem& problem) {
  std::vector<Arithmetic> list;
  for (const std::optional<Arithmetic>& a : alternatives_in_place(arithmetic, problem)) {
    if (a) list.push_back(*a);
  }
  return list;
}

namespace bound {

void join(const Bound& other, Bound& bound) {
  for (std::size_t i = 0; i < bound.o.size(); ++i) {
    keep_larger(other.o[i], bound.o[i]);
    bound.accumulator_outside[i] |= other.accumulator_outside[i];
  }
  for (std::size_t r = 0; r < bound.lse.size(); ++r) {
    keep_larger(other.lse[r], bound.lse[r]);
    bound.frame[r] = std::max(bound.frame[r], other.frame[r]);
    bound.domain[r].require(other.domain[r].nearest);
    bound.domain[r].require(other.domain[r].form);
  }
  bound.refined += other.refined;
}

}  // namespace bound
}  // namespace flashproof
