// Sizes that models and the tiles of others' kernels have, and this project's own kernels do not: head dimensions that are multiples of
// 8 and 16 but no powers of two, to 576; groups of 3, 5, 6, 7, 8 and 16 heads, 32 heads, batches of 4 and 6, pages of 8, 32, 128 and 512,
// two tiles and a part on both axes, more than 8192 keys, widths of 768; 33 and 258 packed sequences; short sequences in long rooms. A
// kernel that names such a size and is wrong there is right at every threshold of `sizes`. In a check of a library also several tiles of
// queries and keys at the head dimensions of models, plain and causal, groups that end inside a tile, decoding at them, and more rows, queries, and
// pairs of batch and head than 16 bits count and the second axis of a grid takes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "properties/generators/features.h"
#include "properties/generators/gradient_form.h"

namespace flashproof::family::model_sizes {
namespace {

struct Heads {
  std::int64_t batch, q, k, queries, keys, d, dv;
  std::int64_t shortest = 0;  // length of the first sequence; 0: each has all keys
  std::int64_t page = 0;
  bool packed = false, causal = false;
};
constexpr Heads kHeads[] = {
    {1, 5, 5, 3, 40, 24, 24},
    {4, 5, 1, 2, 24, 48, 48},
    {1, 8, 1, 2, 96, 72, 72},
    {1, 16, 2, 2, 10, 96, 96},
    {1, 32, 8, 1, 20, 16, 16},
    {1, 32, 32, 1, 12, 8, 8},
    {6, 4, 2, 4, 12, 16, 16},
    {1, 1, 1, 5, 20, 112, 112},
    {1, 1, 1, 6, 50, 224, 96},
    {1, 1, 1, 48, 10, 56, 56},
    {1, 1, 1, 96, 12, 96, 48},
    {1, 1, 1, 256, 5, 20, 20},
    {1, 1, 1, 2, 768, 24, 24},
    {2, 10, 2, 24, 6, 16, 16},
    {1, 1, 1, 1100, 3, 8, 8},
    {3, 6, 6, 10, 10, 12, 12},
    {1, 1, 1, 3, 384, 64, 96},
    {1, 1, 1, 3, 80, 144, 176},
    {1, 1, 1, 2, 1000, 12, 12},
    {1, 1, 1, 41, 41, 32, 32},
    {1, 32, 2, 1, 12, 16, 16},
    {1, 1, 1, 4, 18, 88, 104},
    {1, 1, 1, 3, 24, 176, 208},
    {1, 1, 1, 3, 20, 200, 64},
    {1, 1, 1, 2, 16, 320, 40},
    {1, 1, 1, 2, 12, 576, 512},
    {1, 6, 2, 3, 20, 16, 16},
    {1, 12, 2, 2, 12, 16, 16},
    {1, 7, 1, 2, 12, 16, 16},
    {2, 2, 2, 70, 140, 8, 8},
    {1, 1, 1, 2, 390, 8, 8},
    {1, 1, 1, 2, 8200, 8, 8},
    {2, 2, 1, 3, 600, 8, 8, 13},
    // Widths that 8 does not divide, beyond a vector's and a tile's.
    {2, 6, 2, 3, 20, 44, 36},
    {1, 4, 2, 3, 40, 100, 76},
    {1, 2, 1, 3, 24, 70, 70},
    {1, 1, 1, 2, 12, 132, 131},
    // Beyond a tile on two axes and three; with and without a mask.
    {1, 2, 1, 130, 300, 80, 80},
    {1, 1, 1, 520, 520, 8, 8},
    {1, 16, 1, 2, 100, 8, 8},
    {1, 1, 1, 20, 80, 136, 136},
    {2, 8, 2, 36, 40, 16, 16, 0, 0, false, true},
    {2, 8, 1, 24, 70, 16, 16},
    {33, 16, 16, 1, 2, 8, 8},
    // A gradient has none of these.
    {1, 2, 2, 2, 150, 8, 8, 0, 32},
    {1, 1, 1, 2, 300, 8, 8, 0, 128},
    {2, 2, 2, 2, 40, 8, 8, 0, 8},
    {1, 1, 1, 2, 700, 8, 8, 0, 512},
    {2, 2, 1, 2, 800, 8, 8, 5, 8},
    {33, 2, 1, 2, 5, 8, 8, 0, 0, true},
    {258, 1, 1, 1, 3, 8, 8, 0, 0, true},
    {3, 2, 1, 90, 12, 8, 8, 0, 0, true},
    {3, 1, 1, 1, 9000, 8, 8, 0, 64},
    {7, 2, 1, 400, 20, 8, 8, 0, 0, true},
};
constexpr std::size_t kOfGradients =
    std::ranges::find_if(kHeads, [](const Heads& h) { return h.page > 0 || h.packed; }) - std::begin(kHeads);

// Of a check of a library alone, those of gradients first. 140 queries and 300 keys have a second tile of 128 on both axes.
constexpr Heads kCostlyHeads[] = {
    {1, 1, 1, 70, 140, 64, 64, 0, 0, false, true},
    {1, 2, 2, 130, 200, 64, 64},
    {1, 1, 1, 200, 100, 64, 64, 0, 0, false, true},
    {1, 1, 1, 130, 260, 128, 128, 0, 0, false, true},
    {1, 2, 2, 66, 130, 128, 128},
    {1, 1, 1, 66, 70, 256, 256, 0, 0, false, true},
    {1, 1, 1, 70, 130, 256, 256},
    {1, 1, 1, 65, 130, 192, 128, 0, 0, false, true},
    {4, 66, 66, 1, 64, 8, 8},
    {1, 1, 1, 1100, 70, 8, 8},
    {1, 1, 1, 4100, 8, 8, 8},
    {1, 4, 2, 140, 300, 64, 64, 0, 0, false, true},
    {1, 2, 2, 140, 300, 64, 64},
    {1, 1, 1, 256, 257, 16, 16, 0, 0, false, true},
    {1, 2, 1, 140, 200, 80, 80, 0, 0, false, true},
    // At the head dimensions of models groups of 4, 6 and 7 with more than one query, and ten sequences.
    {1, 8, 2, 36, 72, 64, 64, 0, 0, false, true},
    {1, 7, 1, 20, 70, 128, 128, 0, 0, false, true},
    {1, 6, 1, 20, 70, 64, 64},
    {10, 2, 2, 3, 70, 64, 64},
    {1, 1, 1, 196, 200, 64, 64, 0, 0, false, true},
    // A gradient has none of these.
    {2, 70, 70, 1, 300, 8, 8},
    {1, 66, 66, 2, 66, 64, 64},
    {1, 1, 1, 20, 530, 64, 64, 0, 0, false, true},
    {1, 1, 1, 660, 660, 8, 8},
    {1, 1, 1, 2, 66000, 4, 4},
    {1, 2, 1, 20, 530, 64, 64, 0, 16, false, true},
    {10, 2, 1, 9, 70, 64, 64, 0, 0, true},
    {520, 1, 1, 1, 3, 8, 8, 0, 0, true},
    {1, 1, 1, 2, 33000, 4, 4},
    {1, 8, 2, 1, 700, 128, 128},
    {2, 8, 1, 1, 1100, 64, 64},
    {2, 8, 2, 1, 700, 128, 128, 0, 16},
    {2, 2, 1, 70, 140, 64, 64, 0, 64, false, true},
    {1, 1, 1, 65537, 2, 2, 2},
    {257, 256, 256, 1, 2, 2, 2},
    {3, 5, 1, 20, 40, 16, 16, 0, 0, true},
    {3, 7, 1, 20, 40, 16, 16, 0, 0, true},
    // Groups of 3 and 5 packed into tiles of 64 or 128 rows end inside a group, at queries 42 and 51; the
    // last key of these is the first of the next tile of keys.
    {1, 6, 2, 60, 146, 64, 64, 0, 0, false, true},
    {1, 5, 1, 60, 137, 64, 64, 0, 0, false, true},
    {70, 4, 2, 2, 5, 8, 8, 0, 0, true}};
constexpr std::size_t kCostlyGradients =
    std::ranges::find_if(kCostlyHeads, [](const Heads& h) { return h.q == 70; }) - std::begin(kCostlyHeads);
struct Extents {
  std::int64_t rows, length;
  std::int64_t shortest = 0;  // of every second row
};
constexpr Extents kSoftmax[] = {{2100, 12}, {300, 40}, {4, 48},   {6, 64},    {3, 96},       {3, 100},
                                {2, 192},   {2, 384},  {7, 640},  {2, 768},   {3, 1000},     {2, 1280},
                                {2, 1536},  {2, 3072}, {1, 5120}, {64, 1030}, {6, 2500, 13}, {260, 1030}};
constexpr Extents kCostlySoftmax[] = {{2, 65537}, {4200, 16}, {65537, 3}, {1, 140000}, {8, 16400}};
struct States {
  std::int64_t states, rows, dv;
};
constexpr States kMerge[] = {{5, 6, 24},    {6, 12, 48},  {10, 7, 72},  {12, 10, 96}, {24, 48, 112},
                             {48, 20, 160}, {32, 6, 224}, {2, 1100, 8}, {3, 4, 640},  {2, 3, 1024},
                             {25, 5, 70},   {26, 4, 100}, {4, 3, 134},  {2, 4200, 3}};
constexpr States kCostlyMerge[] = {{9, 130, 128}, {70, 40, 256}, {3, 65537, 1}, {3, 260, 64}, {4, 260, 128}};

// By ProblemKind.
constexpr std::uint64_t kCostlyRound[] = {std::size(kCostlySoftmax), std::size(kCostlyMerge), std::size(kCostlyHeads),
                                          kCostlyGradients};
constexpr std::uint64_t kRound[] = {std::size(kSoftmax), std::size(kMerge), std::size(kHeads), kOfGradients};

std::uint64_t costly(ProblemKind problem) { return kCostlyRound[static_cast<int>(problem)]; }
std::uint64_t round(ProblemKind problem) { return kRound[static_cast<int>(problem)]; }

/// Of the spec's seed.
template <typename Size>
const Size& row_of(const CaseSpec& spec, std::span<const Size> rows, std::span<const Size> costly_rows) {
  const std::uint64_t behind = spec.seed - kCostlySeeds;
  return is_costly(spec) ? costly_rows[behind] : rows[spec.seed % round(spec.problem)];
}

Problem softmax_shape(const CaseSpec& spec, const Extents& size) {
  Problem problem =
      draw_shape(spec, {.rows = size.rows, .length = size.length, .ragged_chance = size.shortest > 0 ? 1.0 : 0.0});
  if (size.shortest == 0) return problem;
  auto& lengths = std::get<SoftmaxProblem>(problem).row_length;
  for (std::size_t r = 0; r < lengths.size(); r += 2)
    lengths[r] = std::min(lengths[r], static_cast<std::int32_t>(size.shortest));
  return problem;
}

/// A key of the spec beats the wish.
Problem shape(CaseSpec spec) {
  if (spec.problem == ProblemKind::softmax) {
    return softmax_shape(spec, row_of<Extents>(spec, kSoftmax, kCostlySoftmax));
  }
  if (spec.problem == ProblemKind::merge) {
    const States& size = row_of<States>(spec, kMerge, kCostlyMerge);
    spec.keys.try_emplace("dv", std::to_string(size.dv));
    return draw_shape(spec, {.rows = size.rows, .length = size.states});
  }
  const Heads& heads = row_of<Heads>(spec, kHeads, kCostlyHeads);
  spec.keys.try_emplace("b", std::to_string(heads.batch));
  if (heads.causal) spec.keys.try_emplace("causal", "1");
  Problem problem = draw_shape(spec, {.rows = heads.queries,
                                      .length = heads.keys,
                                      .ragged_chance = heads.shortest > 0 ? 1.0 : 0.0,
                                      .exact_scale = true,
                                      .head_dim = heads.d,
                                      .value_dim = heads.dv,
                                      .q_heads = heads.q,
                                      .k_heads = heads.k,
                                      .packed = heads.packed,
                                      .paged = heads.page > 0,
                                      .page = heads.page > 0 ? std::optional(heads.page) : std::nullopt});
  if (heads.shortest == 0) return problem;
  std::int32_t& first = std::get<AttentionProblem>(problem).key_length.front();
  first = std::min(first, static_cast<std::int32_t>(heads.shortest));
  return problem;
}

Case make(const CaseSpec& spec) {
  Problem problem = shape(spec);
  Random random = value_stream(spec);
  auto* attention = std::get_if<AttentionProblem>(&problem);
  if (attention != nullptr && is_costly(spec)) {
    put_spread(*attention, random, 2);  // most kernels take no bias, which planted scores may need
    put_values(problem, random);
    return {spec, std::move(problem)};
  }
  return with_spread(spec, std::move(problem), random, 2);
}

GradientForm gradient(const CaseSpec& spec) { return {.mode = mode_in_turn(spec.seed, round(spec.problem))}; }

constexpr Promise kPromises[] = {
    {.field = &Difficulty::keys, .at_least = 1200, .share = 0.2, .only = ProblemKind::softmax},
    {.field = &Difficulty::keys, .at_least = 24, .share = 0.3, .only = ProblemKind::merge},
    {.field = &Difficulty::keys, .at_least = 380, .share = 0.15, .only = ProblemKind::attention}};

}  // namespace

Family model_sizes() {
  return {"head dimensions, groups, heads, batches and widths of models and of others' tiles",
          kAll,
          make,
          kPromises,
          costly,
          round,
          gradient};
}

}  // namespace flashproof::family::model_sizes
