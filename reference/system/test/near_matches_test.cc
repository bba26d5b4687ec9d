#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reference/system/near_matches.h"

namespace flashproof {
namespace {

using Names = std::vector<std::string_view>;
const Names kNames = {"normal", "mask_row", "mask_random", "mask_first_tile", "staircase", "d", "dv", "sq", "sk"};

TEST(NearMatches, EditsUpToThree) {
  EXPECT_EQ(near_matches("staircase", kNames), Names{"staircase"});
  EXPECT_EQ(near_matches("stiarcase", kNames), Names{"staircase"});  // two neighbours swapped: one edit
  EXPECT_EQ(near_matches("starcsae", kNames), Names{"staircase"});
  EXPECT_EQ(near_matches("st4irc4s4", kNames), Names{"staircase"});
  EXPECT_TRUE(near_matches("5t41rc4s4", kNames).empty());
}

TEST(NearMatches, Prefixes) {
  EXPECT_EQ(near_matches("mask", kNames), (Names{"mask_row", "mask_random", "mask_first_tile"}));
  EXPECT_EQ(near_matches("normal_numbers", kNames), Names{"normal"});
}

TEST(NearMatches, BestFirstAndAtMostThree) {
  EXPECT_EQ(near_matches("mask_rw", kNames).front(), "mask_row");
  const Names many = {"aaaaaaxx", "aaaaaaax", "aaaaaaaab", "aaaaaaaa1", "aaaaaxxx"};
  const Names found = near_matches("aaaaaaaa", many);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_THAT(found, testing::Not(testing::Contains("aaaaaxxx")));
}

TEST(NearMatches, ShortNamesAreNotAllNear) {
  EXPECT_TRUE(near_matches("z", kNames).empty());
  EXPECT_TRUE(near_matches("zz", kNames).empty());
  EXPECT_EQ(near_matches("sj", kNames), (Names{"sq", "sk"}));
}

TEST(NearMatches, HostileInput) {
  EXPECT_TRUE(near_matches("", kNames).empty());
  EXPECT_TRUE(near_matches(std::string(1 << 20, 'x'), kNames).empty());
  EXPECT_TRUE(near_matches("normal", Names{}).empty());
}

TEST(NearMatches, as_a_question) {
  EXPECT_EQ(did_you_mean("mask", kNames), " (did you mean mask_row, mask_random or mask_first_tile?)");
  EXPECT_EQ(did_you_mean("stiarcase", kNames), " (did you mean staircase?)");
  EXPECT_EQ(did_you_mean("zz", kNames), "");
}

}  // namespace
}  // namespace flashproof
