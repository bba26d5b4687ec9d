// Any two features of attention and nothing else: a row of `pairs` has many at once, and a kernel that does not take one of them is not
// asked about the others. In every second round any three, of which `pairs` has only those that happen to meet, in any number of rounds:
// a default run has the first round, a longer one the others, in as many cases. Windows cut on both sides, lengths differ, heads come in
// groups, sequences share pages. A check of a library has the rows of feature_tiles.h, too.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "properties/generators/features.h"
#include "properties/generators/gradient_form.h"
#include "properties/generators/shapes/feature_tiles.h"

namespace flashproof::family::feature_pairs {
namespace {

using Parts = std::array<Part, 3>;  // of two the second stands twice

constexpr bool meet(const Parts& parts) {  // packed sequences take no bias
  return std::ranges::find(parts, Part::bias) == parts.end() || std::ranges::find(parts, Part::packed) == parts.end();
}

/// In the order of the last, so that those of gradients come first.
template <std::size_t kCount>
constexpr auto parts_together(bool three) {
  std::array<Parts, kCount> list{};
  std::size_t n = 0;
  for (std::size_t last = 1; last < kParts; ++last) {
    for (std::size_t middle = three ? 1 : last; middle < (three ? last : last + 1); ++middle) {
      for (std::size_t first = 0; first < middle; ++first) {
        const Parts parts{static_cast<Part>(first), static_cast<Part>(middle), static_cast<Part>(last)};
        if (meet(parts)) list[n++] = parts;
      }
    }
  }
  return list;
}
constexpr auto kTwo = parts_together<kParts*(kParts - 1) / 2 - 1>(false);
constexpr auto kThree = parts_together<kParts*(kParts - 1) * (kParts - 2) / 6 - (kParts - 2)>(true);
constexpr std::uint64_t kTwoOfGradients = kPartsOfGradients * (kPartsOfGradients - 1) / 2;
constexpr std::uint64_t kThreeOfGradients = kTwoOfGradients * (kPartsOfGradients - 2) / 3;

std::uint64_t round(ProblemKind problem) { return problem == ProblemKind::backward ? kTwoOfGradients : kTwo.size(); }

/// Of round 0, 2, 4, ... two features, of round 1, 3, 5, ... the next so many of three.
const Parts& parts_of(const CaseSpec& spec) {
  const std::uint64_t rows = round(spec.problem), row = spec.seed % rows, rounds = spec.seed / rows;
  if (rounds % 2 == 0) return kTwo[row];
  const std::uint64_t all = spec.problem == ProblemKind::backward ? kThreeOfGradients : kThree.size();
  return kThree[(rounds / 2 * rows + row) % all];
}

std::uint64_t costly(ProblemKind problem) { return feature_tiles(problem).size(); }

Case make(const CaseSpec& spec) {
  if (is_costly(spec)) return make_feature_tile(spec);
  const Parts& parts = parts_of(spec);
  const auto has = [&](Part part) { return std::ranges::find(parts, part) != parts.end(); };
  const std::int64_t heads = has(Part::groups) ? 4 : 2;
  const bool several_pages = has(Part::paged) && spec.seed % 4 != 0;
  CaseSpec with = spec;
  if (has(Part::paged)) with.keys.try_emplace("b", "4");
  Problem problem = draw_shape(with, {.rows = 9,
                                      .length = several_pages ? 97 : 33,
                                      .causal_chance = has(Part::causal) ? 1.0 : 0.0,
                                      .ragged_chance = has(Part::lengths) ? 1.0 : 0.0,
                                      .bias_chance = has(Part::bias) ? 1.0 : 0.0,
                                      .exact_scale = true,
                                      .head_dim = 8,
                                      .value_dim = 8,
                                      .q_heads = heads,
                                      .k_heads = 2,
                                      .packed = has(Part::packed),
                                      .paged = has(Part::paged),
                                      .page = several_pages ? std::optional<std::int64_t>(16) : std::nullopt});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  if (has(Part::window)) {
    constexpr std::int32_t kReach[] = {1, 3, 6};
    attention.window_left = pick(random, kReach);
    attention.window_right = pick(random, kReach);
  }
  if (has(Part::softcap)) attention.softcap = 2;
  if (has(Part::paged)) share_pages(attention, random);
  if (has(Part::alibi)) put_alibi(attention, random);
  if (has(Part::sink)) put_sink(attention, random, false);
  return with_spread(spec, std::move(problem), random, 2);
}

/// Either mode of each, in turn: two rounds are one turn.
GradientForm gradient(const CaseSpec& spec) {
  const std::uint64_t rows = round(spec.problem);
  return {.mode = mode_in_turn(spec.seed / rows / 2 * rows + spec.seed % rows, rows)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::features, .at_least = 1, .share = 0.6}};

}  // namespace

Family feature_pairs() {
  return {"any two features of attention and no other, in every second round any three",
          kAttentionOnly,
          make,
          kPromises,
          costly,
          round,
          gradient};
}

}  // namespace flashproof::family::feature_pairs
