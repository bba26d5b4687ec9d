#include "properties/generators/shapes/feature_tiles.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "properties/generators/features.h"

namespace flashproof::family {
namespace {

constexpr std::int64_t kDims[] = {64, 128, 96, 256}, kDimsOfGradients[] = {64, 128};
constexpr std::size_t kUsualDims = 2;  // where any two features meet

struct Place {
  std::int64_t batch, queries, keys;
};
// Of one sequence two where sequences may differ.
constexpr Place kWhere[kPlaces] = {{1, 140, 270}, {1, 400, 130}, {4, 1, 1100}};
constexpr Place kWhereOfGradients[kPlaces] = {{1, 130, 140}, {1, 200, 130}, {3, 130, 131}};

/// What a row is there for; each as one number.
std::vector<std::uint64_t> aims_of(const FeatureTile& row, std::size_t dim) {
  std::vector<std::uint64_t> list;
  const std::uint64_t at_dim = dim << 32 | std::uint64_t{1} << 40, at_place = row.place << 32 | std::uint64_t{2} << 40;
  for (std::uint32_t i = 1; i <= row.features; i <<= 1) {
    if ((row.features & i) == 0) continue;
    list.push_back(i | at_dim | row.place << 36);
    for (std::uint32_t j = 1; j < i; j <<= 1) {
      if ((row.features & j) == 0) continue;
      if (dim < kUsualDims) list.push_back(i | j | at_dim);
      list.push_back(i | j | at_place);
      for (std::uint32_t k = 1; k < j; k <<= 1) {
        if ((row.features & k) != 0) list.push_back(i | j | k);
      }
    }
  }
  return list;
}

/// The row that adds most, again and again.
std::vector<FeatureTile> cover(std::uint64_t parts, int together, std::span<const std::int64_t> dims) {
  constexpr std::uint32_t kNever = bit(Part::bias) | bit(Part::packed);  // packed sequences take no bias
  std::vector<std::pair<FeatureTile, std::vector<std::uint64_t>>> candidates;
  std::set<std::uint64_t> open;
  for (std::uint32_t features = 1; features < std::uint32_t{1} << parts; ++features) {
    if (std::popcount(features) != together || (features & kNever) == kNever) continue;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      for (std::size_t place = 0; place < kPlaces; ++place) {
        const FeatureTile row{features, dims[dim], place};
        candidates.emplace_back(row, aims_of(row, dim));
        open.insert(candidates.back().second.begin(), candidates.back().second.end());
      }
    }
  }
  std::vector<FeatureTile> rows;
  while (!open.empty()) {
    const auto gain = [&](const auto& one) {
      return std::ranges::count_if(one.second, [&](std::uint64_t aim) { return open.contains(aim); });
    };
    const auto& best = *std::ranges::max_element(candidates, {}, gain);
    for (const std::uint64_t aim : best.second) open.erase(aim);
    rows.push_back(best.first);
  }
  return rows;
}

}  // namespace

std::span<const std::int64_t> tile_dims(ProblemKind problem) {
  return problem == ProblemKind::backward ? std::span<const std::int64_t>(kDimsOfGradients) : kDims;
}

std::span<const FeatureTile> feature_tiles(ProblemKind problem) {
  static const auto kRows = cover(kParts, 5, kDims);
  static const auto kOfGradients = cover(kPartsOfGradients, 4, kDimsOfGradients);
  return problem == ProblemKind::backward ? kOfGradients : kRows;
}

Case make_feature_tile(const CaseSpec& spec) {
  constexpr std::int64_t kPages[] = {16, 256, 96, 64}, kGroups[] = {2, 3, 4, 7, 6};
  constexpr std::int32_t kWindows[] = {70, 127, 31, 256};
  constexpr float kCaps[] = {2, 30, 50};
  const std::uint64_t number = spec.seed - kCostlySeeds;
  const FeatureTile& row = feature_tiles(spec.problem)[number];
  const auto taken = static_cast<std::uint32_t>(integer_key(spec, "features").value_or((1 << kParts) - 1));
  const auto has = [&](Part part) { return (row.features & taken & bit(part)) != 0; };
  const Place& place = spec.problem == ProblemKind::backward ? kWhereOfGradients[row.place] : kWhere[row.place];
  // Groups of models, and of 16 where there is one query. A gradient's exact values cost most.
  const std::int64_t tiled = kGroups[number % (spec.problem == ProblemKind::backward ? 3 : std::size(kGroups))];
  const std::int64_t group = !has(Part::groups) ? 1 : place.queries == 1 ? 16 : tiled;
  const std::int64_t groups = group <= 2 || group == 16 ? 2 : 1;
  const bool differ = has(Part::lengths) || has(Part::packed) || has(Part::paged);
  CaseSpec with = spec;
  with.keys.try_emplace("b", std::to_string(differ ? std::max<std::int64_t>(place.batch, 2) : place.batch));
  Problem problem = draw_shape(with, {.rows = place.queries,
                                      .length = place.keys,
                                      .causal_chance = has(Part::causal) ? 1.0 : 0.0,
                                      .ragged_chance = has(Part::lengths) ? 1.0 : 0.0,
                                      .bias_chance = has(Part::bias) ? 1.0 : 0.0,
                                      .exact_scale = true,
                                      .takes_features = true,
                                      .head_dim = row.dim,
                                      .value_dim = row.dim,
                                      .q_heads = groups * group,
                                      .k_heads = groups,
                                      .packed = has(Part::packed),
                                      .paged = has(Part::paged),
                                      .page = kPages[number % 4],
                                      .edge_lengths = true});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  if (has(Part::window)) {
    attention.window_left = kWindows[number % 4];
    attention.window_right = static_cast<std::int32_t>(random.integer(0, 6));
  }
  if (has(Part::softcap)) attention.softcap = kCaps[number % 3];
  if (has(Part::paged)) share_pages(attention, random);
  if (has(Part::alibi)) put_alibi(attention, random);
  if (has(Part::sink)) put_sink(attention, random, false);
  put_spread(attention, random, 2);  // most kernels take no bias, which planted scores may need
  if (attention.has_bias()) put_bias(attention, random, normal_row(2));
  put_values(problem, random);
  return {spec, std::move(problem)};
}

}  // namespace flashproof::family
