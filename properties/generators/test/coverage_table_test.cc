// The cases of a default report have every level of every dimension, and every pair of levels that validate()
// does not forbid; the table is printed. Without the covering array many are missing: the table counts what is drawn.
#include "properties/generators/coverage/coverage_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <variant>

#include "properties/generators/backward_case.h"
#include "properties/generators/coverage/pairs.h"
#include "properties/generators/family.h"

namespace flashproof {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class CoverageTableTest : public testing::TestWithParam<ProblemKind> {};

TEST_P(CoverageTableTest, EveryLegalLevelAndPairIsDrawn) {
  const CoverageTable table = default_coverage(GetParam());
  std::fputs(table.text().c_str(), stdout);
  EXPECT_THAT(table.gaps(), IsEmpty());
}

// The first number of gaps is what the other families leave: the array is what closes them.
TEST_P(CoverageTableTest, WithoutTheCoveringArrayThereAreGaps) {
  EXPECT_THAT(default_coverage(GetParam(), "pairs").gaps(), SizeIs(testing::Ge(20)));
}

// A row of the array is what it says, in every round; so a level that its construction misses cannot be counted elsewhere.
TEST_P(CoverageTableTest, ARowHasItsLevels) {
  const std::vector<Levels>& rows = pairwise::rows(GetParam());
  for (std::uint64_t seed = 0; seed < 3 * rows.size(); ++seed) {
    const Problem drawn = *drawn_shape({GetParam(), "pairs", seed, {}});
    const Levels& row = rows[seed % rows.size()];
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Dimension& dimension = dimensions(GetParam())[i];
      if (row[i] == kFree) continue;
      EXPECT_EQ(dimension.level(drawn), row[i]) << seed << " " << dimension.name;
    }
  }
}

// A size of the lists that no row takes is never drawn. Pages and scales are drawn by the rounds of `pairs`.
TEST_P(CoverageTableTest, ARoundOfSizesHasEverySizeOfTheLists) {
  const auto all = dimensions(GetParam());
  std::vector<std::set<std::int64_t>> left(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != "page" && all[i].name != "scale") left[i].insert(all[i].values.begin(), all[i].values.end());
  }
  for (std::uint64_t seed = 0; seed < find_family("sizes")->round(GetParam()); ++seed) {
    const Case made = make_case({GetParam(), "sizes", seed, {}});
    for (std::size_t i = 0; i < all.size(); ++i) left[i].erase(all[i].measure(made.problem));
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_THAT(left[i], IsEmpty()) << all[i].name;
}

INSTANTIATE_TEST_SUITE_P(Problems, CoverageTableTest, testing::ValuesIn(kProblemKinds),
                         [](const auto& of) { return std::string(name(of.param)); });

const AttentionProblem& forward_of(const Problem& problem) {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return gradient != nullptr ? gradient->forward : std::get<AttentionProblem>(problem);
}

/// The case reaches the second tile along every axis at once, the tiles being as large as common kernels have them.
bool second_tiles_meet(const Problem& problem) {
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) return p->x.shape[0] > 128 && p->x.shape[1] > 256;
  const AttentionProblem& p = forward_of(problem);
  for (std::int64_t s = 1; s < p.sequences(); ++s) {
    const bool heads = p.k_heads() > 1 && p.q_heads() > p.k_heads();
    if (heads && p.q_length(s) > 32 && p.visible_length(s) > 128) return true;
  }
  return false;
}

bool second_row_longer_than_int16(const Problem& problem) {
  const auto* p = std::get_if<SoftmaxProblem>(&problem);
  return p != nullptr && p->row_length.size() > 1 && *std::ranges::max_element(p->row_length) > 32767;
}

std::uint64_t count_of(ProblemKind problem, const char* family, bool (*has)(const Problem&)) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < find_family(family)->round(problem); ++seed) {
    found += has(make_case({problem, family, seed, {}}).problem) ? 1 : 0;
  }
  return found;
}

// A tile index that is wrong only where it is not 0 along two axes. Pairs of levels have the cheapest sizes, which do not show it.
TEST(CoverageTable, SecondTilesAlongEveryAxisMeetInSizesAlone) {
  for (const ProblemKind problem : {ProblemKind::softmax, ProblemKind::attention, ProblemKind::backward}) {
    EXPECT_GE(count_of(problem, "sizes", second_tiles_meet), 1U) << name(problem);
    EXPECT_EQ(count_of(problem, "pairs", second_tiles_meet), 0U) << name(problem);
  }
  EXPECT_GE(count_of(ProblemKind::softmax, "sizes", second_row_longer_than_int16), 1U);
  EXPECT_EQ(count_of(ProblemKind::softmax, "pairs", second_row_longer_than_int16), 0U);
}

bool window_of_nine_sequences(const Problem& problem) {
  const AttentionProblem& p = forward_of(problem);
  return p.sequences() > 8 && p.window_left >= 0 && p.q_length(8) > 1 && p.window_left < p.k_length() - 1;
}
/// Some query sees fewer keys for it.
bool long_right_window_ends(const Problem& problem) {
  const AttentionProblem& p = forward_of(problem);
  return !p.causal && p.window_right >= 100 && p.window_right < p.q_length(0) - 1;
}
bool right_window_ends_at_the_mask(const Problem& problem) {
  const AttentionProblem& p = forward_of(problem);
  return p.causal && p.window_right == 0 && p.k_length() > 1;
}

// Windows that pairs of levels have by luck alone. Without the ends that they are about they are no such windows.
TEST(CoverageTable, WindowsThatEndSomewhereAreInEveryRoundOfSizes) {
  for (const ProblemKind problem : {ProblemKind::attention, ProblemKind::backward}) {
    for (bool (*has)(const Problem&) :
         {window_of_nine_sequences, long_right_window_ends, right_window_ends_at_the_mask}) {
      EXPECT_GE(count_of(problem, "sizes", has), 1U) << name(problem);
    }
  }
  AttentionProblem p =
      forward_of(make_case({ProblemKind::attention, "normal", 1, {{"sq", "101"}, {"sk", "130"}}}).problem);
  p.causal = false;
  p.window_right = 100;
  EXPECT_FALSE(long_right_window_ends(p));
  p.causal = true;
  p.window_right = 1;
  EXPECT_FALSE(right_window_ends_at_the_mask(p) || window_of_nine_sequences(p));
}

// What a kernel keeps of its first call for the same sizes shows in the second; also of one that takes lengths and nothing else.
TEST(CoverageTable, SizesHaveTheSameShapeTwiceWithOtherLengths) {
  for (const ProblemKind problem : {ProblemKind::attention, ProblemKind::backward}) {
    std::map<std::vector<std::int64_t>, std::set<std::vector<std::int32_t>>> lengths, alone;
    for (std::uint64_t seed = 0; seed < find_family("sizes")->round(problem); ++seed) {
      const Problem drawn = make_case({problem, "sizes", seed, {}}).problem;
      const AttentionProblem& p = forward_of(drawn);
      if (p.key_length.empty()) continue;
      const bool more =
          p.causal || p.window_left >= 0 || p.window_right >= 0 || p.has_bias() || p.q_heads() != p.k_heads();
      (more ? lengths
            : alone)[{p.batch(), p.q_heads(), p.k_heads(), p.q_length(), p.k_length(), p.head_dim(), p.value_dim()}]
          .insert(p.key_length);
    }
    const auto twice = [](const auto& shape) { return shape.second.size() > 1; };
    EXPECT_TRUE(std::ranges::any_of(lengths, twice)) << name(problem);
    EXPECT_TRUE(std::ranges::any_of(alone, twice)) << name(problem);
  }
}

// A kernel that takes nothing but a causal mask, or not even that, refuses most rows: what is left has scales of every size and sign.
TEST(CoverageTable, AKernelOfFewFeaturesIsDrawnEveryScale) {
  for (const ProblemKind problem : {ProblemKind::attention, ProblemKind::backward}) {
    const auto all = dimensions(problem);
    const auto level = [&](const Problem& drawn, AttentionAxis axis) {
      const std::size_t at = axis_of(problem, axis);
      return at < all.size() ? all[at].level(drawn) : 0;
    };
    std::set<int> scales;
    std::set<std::pair<int, int>> masked;
    for (std::uint64_t seed = 0; seed < find_family("pairs")->round(problem); ++seed) {
      const Problem drawn = make_case({problem, "pairs", seed, {}}).problem;
      bool few = level(drawn, kQueries) > 0 && level(drawn, kKeys) > 0;
      for (const AttentionAxis feature :
           {kWindow, kBias, kAlibi, kSoftcap, kSink, kDescale, kKeyFormat, kPacked, kPage, kLayout, kLengths, kHeads})
        few = few && level(drawn, feature) == 0;
      if (!few) continue;
      scales.insert(level(drawn, kScale));
      masked.emplace(level(drawn, kCausal), level(drawn, kSign));
    }
    EXPECT_EQ(scales.size(), all[axis_of(problem, kScale)].levels.size()) << name(problem);
    EXPECT_THAT(masked, SizeIs(4)) << name(problem);
  }
}

// Three dimensions of 2, 3 and 4 levels need 12 rows at least; a pair that is not possible is in none.
TEST(Covering, HasEveryPossiblePairAndNoOther) {
  const std::vector<int> counts = {2, 3, 4};
  const Possible possible = [](const Levels& levels) { return !(levels[0] == 1 && levels[2] == 3); };
  const std::vector<Levels> rows = cover_pairs(counts, possible);
  std::set<std::pair<int, int>> pairs;
  for (const Levels& row : rows) {
    EXPECT_TRUE(possible(row));
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < i; ++j)
        pairs.insert({10 * i + row[static_cast<std::size_t>(i)], 10 * j + row[static_cast<std::size_t>(j)]});
    }
  }
  EXPECT_EQ(pairs.size(), 6U + 8U + 12U - 1U);
  EXPECT_LE(rows.size(), 15U);
  EXPECT_EQ(cover_pairs(counts, possible), rows);
}

}  // namespace
}  // namespace flashproof
