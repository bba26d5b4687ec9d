// Several features of attention at once, at the head dimensions of models, where queries or keys are more than a tile of 128: what a
// kernel does there is other code than in its first tile, and often other code for each dimension. The costly cases of feature_pairs: a
// covering array in which
//
//   any three features meet;
//   any two features meet at d = 64 and 128, and in each place: more keys than queries, fewer, decoding (of gradients several sequences);
//   each feature is at each dimension in each place.
//
// A kernel that does not take all features of a row is asked about those that it takes (key `features`).
#pragma once

#include <cstdint>
#include <span>

#include "reference/problem/case.h"

namespace flashproof::family {

/// Those that a gradient has come first.
enum class Part : std::uint8_t { causal, groups, lengths, window, alibi, bias, softcap, sink, packed, paged };
inline constexpr std::uint64_t kParts = 10, kPartsOfGradients = 6;
inline constexpr std::uint32_t bit(Part part) { return std::uint32_t{1} << static_cast<int>(part); }

struct FeatureTile {
  std::uint32_t features;  // bits
  std::int64_t dim;
  std::size_t place;
};
inline constexpr std::size_t kPlaces = 3;
std::span<const std::int64_t> tile_dims(ProblemKind problem);
/// Row by row.
std::span<const FeatureTile> feature_tiles(ProblemKind problem);
/// Of a costly spec of feature_pairs.
Case make_feature_tile(const CaseSpec& spec);

}  // namespace flashproof::family
