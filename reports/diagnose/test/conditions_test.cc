#include "reports/diagnose/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace flashproof {
namespace {

using testing::HasSubstr;
using Kind = Trait::Kind;

const std::vector<Trait> kTraits = {{"hidden", "the first chunk is hidden", Kind::yes_no},
                                    {"cols", "cols", Kind::count},
                                    {"score", "the largest score", Kind::real}};

/// 12 cases of 20 rows each; `fails(hidden, cols, score)`.
template <class Fails>
std::vector<Unit> table(Fails fails, std::uint32_t cases = 12) {
  std::vector<Unit> units;
  for (std::uint32_t c = 0; c < cases; ++c) {
    for (int row = 0; row < 20; ++row) {
      const double hidden = (row * 7 + static_cast<int>(c)) % 3 == 0 ? 1 : 0, cols = 30 + c * 11 % 17;
      const double score = std::sin(static_cast<double>(row) * 12.9898 + c * 78.233) * 100;
      units.push_back({c, fails(hidden, cols, score), {hidden, cols, score}});
    }
  }
  return units;
}

TEST(Conditions, tell_one_trait_with_counts_on_both_sides) {
  const auto units = table([](double hidden, double, double) { return hidden != 0; });
  const auto found = separating(kTraits, units, "rows");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, "hidden");
  const auto failing = std::ranges::count_if(units, [](const Unit& u) { return u.failing; });
  EXPECT_EQ(found->failing, static_cast<std::uint64_t>(failing));
  EXPECT_THAT(found->sentence, HasSubstr("only where the first chunk is hidden (" + std::to_string(failing) + " of " +
                                         std::to_string(failing) + " failing rows, 0 of "));
}

TEST(Conditions, tell_a_threshold_and_a_residue) {
  const auto high = separating(kTraits, table([](double, double, double s) { return s > 60; }), "rows");
  ASSERT_TRUE(high);
  EXPECT_EQ(high->id, "score");
  EXPECT_THAT(high->sentence, HasSubstr("or more"));
  const auto odd =
      separating(kTraits, table([](double, double cols, double) { return std::fmod(cols, 4) == 1; }, 40), "rows");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->id, "cols");
  EXPECT_THAT(odd->sentence, HasSubstr("cols mod 4 = 1"));
}

TEST(Conditions, say_what_is_not_the_case_last) {
  const auto found = separating(kTraits, table([](double h, double, double s) { return h == 0 && s > 20; }), "rows");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, "hidden+score");
  EXPECT_THAT(found->sentence, HasSubstr("or more and it is not the case that the first chunk is hidden ("));
}

TEST(Conditions, tell_two_traits_where_one_is_not_enough) {
  const auto found = separating(kTraits, table([](double h, double, double s) { return h != 0 && s > 20; }), "rows");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, "hidden+score");
}

TEST(Conditions, tell_that_one_of_two_holds) {
  const auto found = separating(kTraits, table([](double, double, double s) { return s > 70 || s < -70; }), "rows");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, "score");
  EXPECT_THAT(found->sentence, testing::AllOf(HasSubstr("or more or the largest score is -"), HasSubstr("or less (")));
}

// A separation that chance would find as well is not told: one failing case of a few, whose every row fails.
TEST(Conditions, do_not_tell_chance) {
  const auto units = table([](double, double cols, double) { return cols == 30; }, 12);
  ASSERT_TRUE(std::ranges::any_of(units, [](const Unit& u) { return u.failing; }));
  EXPECT_FALSE(separating(kTraits, units, "rows"));
  std::vector<Unit> two = {{0, true, {1, 8, 3.5}}, {1, false, {0, 9, 1.5}}, {2, false, {0, 9, 2.5}}};
  EXPECT_FALSE(separating(kTraits, two, "rows"));
}

TEST(Conditions, are_none_where_labels_are_dealt_at_random) {
  int told = 0;
  for (int deal = 0; deal < 40; ++deal) {
    std::uint32_t state = 12345U + static_cast<std::uint32_t>(deal) * 7919U;
    const auto units = table([&](double, double, double) {
      state = state * 1664525U + 1013904223U;
      return (state >> 24) % 8 == 0;
    });
    told += separating(kTraits, units, "rows") ? 1 : 0;
  }
  EXPECT_EQ(told, 0);
}

TEST(Conditions, need_both_sides) {
  EXPECT_FALSE(separating(kTraits, table([](double, double, double) { return true; }), "rows"));
  EXPECT_FALSE(separating(kTraits, table([](double, double, double) { return false; }), "rows"));
  EXPECT_FALSE(separating(kTraits, {}, "rows"));
}

}  // namespace
}  // namespace flashproof
