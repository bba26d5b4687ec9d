// Of the rows of feature_tiles.h what they say that they cover, and that each is a case.
#include "properties/generators/shapes/feature_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "properties/generators/family.h"

namespace flashproof::family {
namespace {

constexpr ProblemKind kBoth[] = {ProblemKind::attention, ProblemKind::backward};

class FeatureTiles : public testing::TestWithParam<ProblemKind> {
 protected:
  bool any(std::uint32_t features, const auto& holds) const {
    return std::ranges::any_of(feature_tiles(GetParam()), [&](const FeatureTile& row) {
      return (row.features & features) == features && holds(row);
    });
  }
  std::uint64_t parts() const { return GetParam() == ProblemKind::backward ? kPartsOfGradients : kParts; }
};

TEST_P(FeatureTiles, cover_what_they_say) {
  constexpr std::uint32_t kNever = bit(Part::bias) | bit(Part::packed);
  for (std::uint64_t i = 0; i < parts(); ++i) {
    for (std::uint64_t j = 0; j <= i; ++j) {
      for (std::uint64_t k = 0; k <= j; ++k) {
        const std::uint32_t features = bit(Part(i)) | bit(Part(j)) | bit(Part(k));
        if ((features & kNever) == kNever) continue;
        EXPECT_TRUE(any(features, [](const FeatureTile&) { return true; })) << features;
        if (j != k) continue;  // two, or one
        for (const std::int64_t dim : tile_dims(GetParam()).first(2)) {
          EXPECT_TRUE(any(features, [&](const FeatureTile& row) { return row.dim == dim; })) << features << " " << dim;
        }
        for (std::size_t place = 0; place < kPlaces; ++place) {
          EXPECT_TRUE(any(features, [&](const FeatureTile& row) { return row.place == place; })) << features;
          if (i != j) continue;
          for (const std::int64_t dim : tile_dims(GetParam())) {
            EXPECT_TRUE(any(features, [&](const FeatureTile& row) { return row.place == place && row.dim == dim; }))
                << features << " " << dim << " " << place;
          }
        }
      }
    }
  }
}

TEST_P(FeatureTiles, each_is_a_case_with_its_features_or_fewer) {
  const auto rows = feature_tiles(GetParam());
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    for (const std::uint32_t taken : {1023U, rows[i].features & (rows[i].features - 1), 0U}) {
      const Case one =
          make_case({GetParam(), "feature_pairs", kCostlySeeds + i, {{"features", std::to_string(taken)}}});
      const auto* gradient = std::get_if<BackwardProblem>(&one.problem);
      const AttentionProblem& p = gradient != nullptr ? gradient->forward : std::get<AttentionProblem>(one.problem);
      const std::uint32_t left = rows[i].features & taken;
      const auto has = [&](Part part) { return (left & bit(part)) != 0; };
      EXPECT_EQ(p.causal, has(Part::causal)) << i;
      EXPECT_EQ(p.q_heads() > p.k_heads(), has(Part::groups)) << i;
      EXPECT_EQ(!p.key_length.empty(), has(Part::lengths) || has(Part::paged)) << i;
      EXPECT_EQ(p.window_left >= 0, has(Part::window)) << i;
      EXPECT_EQ(p.has_alibi(), has(Part::alibi)) << i;
      EXPECT_EQ(p.has_bias(), has(Part::bias)) << i;
      EXPECT_EQ(p.softcap != 0, has(Part::softcap)) << i;
      EXPECT_EQ(p.has_sink(), has(Part::sink)) << i;
      EXPECT_EQ(p.packed(), has(Part::packed)) << i;
      EXPECT_EQ(p.paged(), has(Part::paged)) << i;
      EXPECT_EQ(p.head_dim(), rows[i].dim) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, FeatureTiles, testing::ValuesIn(kBoth),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace flashproof::family
