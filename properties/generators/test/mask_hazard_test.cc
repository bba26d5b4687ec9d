// The mask families really hide what they say, and leave the rest of the row visible.
#include <gtest/gtest.h>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

int hidden_while_row_is_not(const Case& made, int place) {
  int count = 0;
  for (const ScoreRow& row : rows_of(made)) {
    const std::vector<double> maxima = visited_maxima(row);
    const bool seen = row_max(row) > -INFINITY;
    if (place == 1) {
      for (std::size_t c = 1; c + 1 < maxima.size() && seen; ++c) count += maxima[c] == -INFINITY;
    } else {
      count += seen && (place == 0 ? maxima.front() : maxima.back()) == -INFINITY;
    }
  }
  return count;
}

TEST(MaskHazard, MaskFirstTile) {
  for_each_case(*find_family("mask_first_tile"),
                [](const Case& made) { EXPECT_GE(hidden_while_row_is_not(made, 0), 1) << to_string(made.spec); });
}

TEST(MaskHazard, MaskMiddleTile) {
  for_each_case(*find_family("mask_middle_tile"),
                [](const Case& made) { EXPECT_GE(hidden_while_row_is_not(made, 1), 1) << to_string(made.spec); });
}

TEST(MaskHazard, MaskLastTile) {
  int by_length = 0;
  for_each_case(*find_family("mask_last_tile"), [&](const Case& made) {
    const auto* softmax = std::get_if<SoftmaxProblem>(&made.problem);
    const auto* attention = std::get_if<AttentionProblem>(&made.problem);
    const bool cut = (softmax != nullptr && !softmax->row_length.empty()) ||
                     (attention != nullptr && !attention->key_length.empty());
    by_length += cut;
    // Cut by the length, the last tile by position is hidden, wherever the visit has it.
    int hidden = hidden_while_row_is_not(made, 2);
    for (const ScoreRow& row : rows_of(made)) {
      hidden += cut && row.score[static_cast<std::size_t>(*(row.plan.boundary.end() - 2))] == -INFINITY;
    }
    EXPECT_GE(hidden, 1) << to_string(made.spec);
  });
  EXPECT_GE(by_length, 10);
}

TEST(MaskHazard, MaskOneSurvivor) {
  for_each_case(*find_family("mask_one_survivor"), [](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      EXPECT_EQ(std::ssize(row.score) - std::count(row.score.begin(), row.score.end(), -INFINITY), 1)
          << to_string(made.spec);
    }
  });
}

TEST(MaskHazard, MaskRow) {
  int whole = 0, ordinary = 0;
  for_each_case(*find_family("mask_row"), [&](const Case& made) {
    int here = 0;
    for (const ScoreRow& row : rows_of(made)) {
      here += row_max(row) == -INFINITY;
      ordinary += row_max(row) > -INFINITY;
    }
    EXPECT_GE(here, 1) << to_string(made.spec);
    whole += here;
  });
  EXPECT_GE(ordinary, whole / 2);
}

TEST(MaskHazard, MaskRandom) {
  int single_in_front = 0, nearly_all = 0;
  for_each_case(*find_family("mask_random"), [&](const Case& made) {
    for (const ScoreRow& row : rows_of(made)) {
      const auto hidden = std::count(row.score.begin(), row.score.end(), -INFINITY);
      EXPECT_GE(hidden, 1) << to_string(made.spec);
      const auto found = std::find(row.score.begin(), row.score.end(), -INFINITY) - row.score.begin();
      single_in_front += hidden == 1 && found < 512 && std::ssize(row.score) >= 512;
      nearly_all += hidden < std::ssize(row.score) && hidden > 0.8 * std::ssize(row.score);
    }
  });
  EXPECT_GE(single_in_front, 5);
  EXPECT_GE(nearly_all, 5);
}

TEST(MaskHazard, EmptyStatesHoldPoison) {
  for (const char* family : {"mask_first_tile", "mask_middle_tile", "mask_last_tile", "mask_row"}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Case made = make_case({ProblemKind::merge, family, seed, {}});
      const auto& p = std::get<MergeProblem>(made.problem);
      for (std::int64_t c = 0; c < p.o.shape[0]; ++c) {
        for (std::int64_t r = 0; r < p.o.shape[1]; ++r) {
          EXPECT_EQ(std::isnan(p.o.at({c, r, 0})), p.lse.at({c, r}) == -INFINITY) << to_string(made.spec);
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashproof
