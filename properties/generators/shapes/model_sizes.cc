// Sizes that models and the tiles of others' kernels have, and this project's own kernels do not: head dimensions that are multiples of
// 8 and 16 but no powers of two, groups of 5, 8 and 16 heads, 32 heads, batches of 4 and 6, pages of 32 and 128, more than a thousand rows, widths of 768. A
// kernel that names such a size and is wrong there is right at every threshold of `sizes`.
#include <cstdint>
#include <optional>
#include <string>

#include "properties/generators/features.h"
#include "properties/generators/gradient_form.h"

namespace flashproof::family {
namespace {

struct Heads {
  std::int64_t batch, q, k, queries, keys, d, dv, page = 0;
};
constexpr Heads kHeads[] = {
    {1, 5, 5, 3, 40, 24, 24},  {4, 5, 1, 2, 24, 48, 48},    {1, 8, 1, 2, 96, 72, 72},    {1, 16, 2, 2, 10, 96, 96},
    {1, 32, 8, 1, 20, 16, 16}, {1, 32, 32, 1, 12, 8, 8},    {6, 4, 2, 4, 12, 16, 16},    {1, 1, 1, 5, 20, 112, 112},
    {1, 1, 1, 6, 50, 224, 96}, {1, 1, 1, 48, 10, 56, 56},   {1, 1, 1, 96, 12, 96, 48},   {1, 1, 1, 256, 5, 20, 20},
    {1, 1, 1, 2, 768, 24, 24}, {2, 10, 2, 24, 6, 16, 16},   {1, 1, 1, 1100, 3, 8, 8},    {3, 6, 6, 10, 10, 12, 12},
    {1, 1, 1, 3, 384, 64, 96}, {1, 1, 1, 3, 80, 144, 176},  {1, 1, 1, 2, 1000, 12, 12},  {1, 1, 1, 41, 41, 32, 32},
    {1, 32, 2, 1, 12, 16, 16}, {1, 2, 2, 2, 150, 8, 8, 32}, {1, 1, 1, 2, 300, 8, 8, 128}};
struct Extents {
  std::int64_t rows, length;
};
constexpr Extents kSoftmax[] = {{1100, 8}, {300, 40}, {4, 48},   {6, 64},   {3, 96},   {3, 100},  {2, 192}, {2, 384},
                                {7, 640},  {2, 768},  {3, 1000}, {2, 1280}, {2, 1536}, {2, 3072}, {1, 5120}};
struct States {
  std::int64_t states, rows, dv;
};
constexpr States kMerge[] = {{5, 6, 24},    {6, 12, 48},   {10, 7, 72},  {12, 10, 96},
                             {24, 48, 112}, {48, 20, 160}, {32, 6, 224}, {2, 1100, 8}};

/// A gradient has no pages: its round ends before them.
std::uint64_t round(ProblemKind problem) {
  switch (problem) {
    case ProblemKind::softmax:
      return std::size(kSoftmax);
    case ProblemKind::merge:
      return std::size(kMerge);
    case ProblemKind::backward:
      return std::size(kHeads) - 2;
    case ProblemKind::attention:
      break;
  }
  return std::size(kHeads);
}

/// A key of the spec beats the wish.
Problem shape(CaseSpec spec) {
  const std::uint64_t at = spec.seed % round(spec.problem);
  if (spec.problem == ProblemKind::softmax)
    return draw_shape(spec, {.rows = kSoftmax[at].rows, .length = kSoftmax[at].length});
  if (spec.problem == ProblemKind::merge) {
    spec.keys.try_emplace("dv", std::to_string(kMerge[at].dv));
    return draw_shape(spec, {.rows = kMerge[at].rows, .length = kMerge[at].states});
  }
  const Heads& heads = kHeads[at];
  spec.keys.try_emplace("b", std::to_string(heads.batch));
  return draw_shape(spec, {.rows = heads.queries,
                           .length = heads.keys,
                           .exact_scale = true,
                           .head_dim = heads.d,
                           .value_dim = heads.dv,
                           .q_heads = heads.q,
                           .k_heads = heads.k,
                           .paged = heads.page > 0,
                           .page = heads.page > 0 ? std::optional(heads.page) : std::nullopt});
}

Case make(const CaseSpec& spec) {
  Problem problem = shape(spec);
  Random random = value_stream(spec);
  put_spread(problem, random, 2);
  return {spec, std::move(problem)};
}

GradientForm gradient(const CaseSpec& spec) { return {.mode = mode_in_turn(spec.seed, round(spec.problem))}; }

constexpr Promise kPromises[] = {
    {.field = &Difficulty::keys, .at_least = 1200, .share = 0.2, .only = ProblemKind::softmax},
    {.field = &Difficulty::keys, .at_least = 24, .share = 0.3, .only = ProblemKind::merge},
    {.field = &Difficulty::keys, .at_least = 380, .share = 0.15, .only = ProblemKind::attention}};

}  // namespace

Family model_sizes() {
  return {"model_sizes", "head dimensions, groups, heads, batches and widths of models and of others' tiles",
          kAll,          make,
          kPromises,     round,
          false,         gradient};
}

}  // namespace flashproof::family
