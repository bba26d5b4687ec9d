#include "properties/generators/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Glob, star_and_question_mark_match_what_a_shell_would) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("merge.*", "merge.pairwise_stable.hardened"));
  EXPECT_TRUE(glob_match("*.hardened", "merge.pairwise_stable.hardened"));
  EXPECT_TRUE(glob_match("*pair*hard*", "merge.pairwise_stable.hardened"));
  EXPECT_TRUE(glob_match("f?2", "f32"));
  EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_match("f?", "f32"));
  EXPECT_FALSE(glob_match("merge", "merge.pairwise_stable"));
  EXPECT_FALSE(glob_match("*.published", "merge.pairwise_stable.hardened"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("?", ""));
}

TEST(Glob, everything_but_star_and_question_mark_is_literal) {
  EXPECT_FALSE(glob_match("a.c", "abc"));
  EXPECT_FALSE(glob_match("[ab]", "a"));
  EXPECT_TRUE(glob_match("[ab]", "[ab]"));
}

TEST(Glob, a_pattern_full_of_stars_takes_no_exponential_time) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(2000, 'a')));
}

TEST(SelectNames, no_pattern_selects_everything_and_several_patterns_their_union) {
  const std::string_view names[] = {"alpha", "beta", "gamma"};
  EXPECT_THAT(select_names({}, names, "letter"), ElementsAre(0, 1, 2));
  const std::string patterns[] = {"g*", "alpha", "*a"};
  EXPECT_THAT(select_names(patterns, names, "letter"), ElementsAre(0, 1, 2));
  const std::string two[] = {"g*", "b*"};
  EXPECT_THAT(select_names(two, names, "letter"), ElementsAre(1, 2));
}

TEST(SelectNames, a_pattern_that_matches_nothing_is_a_usage_error_with_the_near_matches) {
  const std::string_view names[] = {"alpha", "beta", "gamma"};
  const std::string patterns[] = {"alpha", "betta"};
  try {
    select_names(patterns, names, "letter");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("unknown letter \"betta\""));
    EXPECT_THAT(e.what(), HasSubstr("beta"));
    EXPECT_THAT(e.what(), testing::Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace flashproof
