// What a family file needs.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "properties/generators/family.h"
#include "properties/generators/fill.h"
#include "properties/generators/keys.h"
#include "properties/generators/numbers.h"
#include "properties/generators/shape.h"
#include "reference/problem/special_values.h"

namespace flashproof::family {

inline constexpr ProblemKind kAll[] = {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention};
inline constexpr ProblemKind kWithValues[] = {ProblemKind::merge, ProblemKind::attention};
inline constexpr ProblemKind kTiled[] = {ProblemKind::softmax, ProblemKind::attention};
inline constexpr ProblemKind kMergeOnly[] = {ProblemKind::merge};
inline constexpr ProblemKind kAttentionOnly[] = {ProblemKind::attention};

/// The keys [begin, end) of the chunk visited at place `visit`.
struct KeyRange {
  std::int64_t begin, end;
};
inline KeyRange visited_chunk(const ChunkPlan& plan, int visit) {
  const auto chunk = static_cast<std::size_t>(plan.order[static_cast<std::size_t>(visit)]);
  return {plan.boundary[chunk], plan.boundary[chunk + 1]};
}

/// The number of keys that the chunks divide.
inline std::int64_t length_of(const Problem& problem) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return softmax->x.shape[1];
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return merge->o.shape[0];
  return std::get<AttentionProblem>(problem).k_length();
}

/// The seeds of checks and reports, of which a few must have everything, take what is rare in turn; those of searches draw it.
inline bool in_turn(const CaseSpec& spec) { return spec.seed < 1000; }

/// Of every third seed of checks and reports the scale of an attention is negative, unless a key gives it: of far-spread scores a maximum that is taken before the
/// scale is the least one then, and exponentials overflow.
inline void turn_scale(const CaseSpec& spec, Problem& problem) {
  auto* attention = std::get_if<AttentionProblem>(&problem);
  if (attention != nullptr && in_turn(spec) && spec.seed % 3 == 1 && !text_key(spec, "scale")) {
    attention->scale = -std::abs(attention->scale);
  }
}

/// Family::costly of a family of numbers: rows longer than the usual ones (draw_shape).
inline std::uint64_t long_rows(ProblemKind problem) {
  return problem == ProblemKind::softmax || problem == ProblemKind::attention ? 2 : 0;
}

/// Family::costly of a family of descale factors: in the first tile of keys a factor is often applied by other code than behind it.
inline std::uint64_t descaled_tiles(ProblemKind problem) { return problem == ProblemKind::attention ? 4 : 0; }
/// What such a case asks of the shape, beside what its family does.
inline ShapeWish with_descaled_tile(const CaseSpec& spec, ShapeWish wish) {
  if (!is_costly(spec)) return wish;
  const std::uint64_t number = spec.seed - kCostlySeeds;
  const bool decodes = number % 2 == 1;
  wish.rows = decodes ? 1 : 140;
  wish.length = decodes ? 1100 : 270;
  wish.head_dim = wish.value_dim = number < 2 ? 64 : 128;
  wish.q_heads = wish.k_heads = 2;
  return wish;
}

/// Normal logits around one number.
inline LogitRow normal_row(double deviation, double offset = 0) {
  return [=](Random& random, const LogitSite&, std::span<double> logits) {
    for (double& logit : logits) logit = offset + deviation * random.normal();
  };
}

/// The case of a drawn shape, with these rows of logits and normal values.
inline Case with_rows(const CaseSpec& spec, Problem&& problem, Random& random, const LogitRow& row,
                      const LogitOptions& options = {}) {
  put_logits(problem, random, row, options);
  put_values(problem, random);
  return {spec, std::move(problem)};
}
/// The same of a family that draws nothing between the shape and the rows.
inline Case with_rows(const CaseSpec& spec, const ShapeWish& wish, const LogitRow& row,
                      const LogitOptions& options = {}) {
  Problem problem = draw_shape(spec, wish);
  Random random = value_stream(spec);
  return with_rows(spec, std::move(problem), random, row, options);
}

}  // namespace flashproof::family
