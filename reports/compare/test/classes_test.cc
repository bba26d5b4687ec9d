#include "reports/compare/classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "reference/error/verdict.h"

namespace flashproof::compare {
namespace {

ClassCounts counts(std::initializer_list<std::pair<CaseClass, std::uint64_t>> list) {
  ClassCounts c{};
  for (const auto& [which, n] : list) c[static_cast<std::size_t>(which)] = n;
  return c;
}

TEST(classes, every_verdict_and_failure_of_a_report_has_a_rung) {
  for (std::size_t i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    EXPECT_EQ(parse_case_class(flashproof::name(kind)).has_value(), kind != VerdictKind::fail)
        << flashproof::name(kind);
  }
  for (std::size_t i = 1; i < kFailures; ++i) {
    EXPECT_TRUE(parse_case_class(flashproof::name(static_cast<Failure>(i))))
        << flashproof::name(static_cast<Failure>(i));
  }
  EXPECT_EQ(kCaseClasses, kVerdictKinds - 1 + kFailures - 1);
  EXPECT_FALSE(parse_case_class("fail"));
}

TEST(classes, pass_to_silently_wrong_comes_before_pass_to_nan_before_everything_that_got_better) {
  using enum CaseClass;
  std::vector<ClassChange> list = {class_change(class_mismatch, pass),
                                   class_change(pass, class_mismatch),
                                   class_change(pass, unsupported),
                                   class_change(pass, silently_wrong),
                                   class_change(silently_wrong, class_mismatch),
                                   class_change(silently_wrong, pass)};
  std::ranges::sort(list, harms_more);
  std::vector<std::string> words;
  for (const ClassChange& c : list) words.push_back(to_string(c));
  EXPECT_EQ(words, (std::vector<std::string>{"pass -> silently_wrong", "pass -> class_mismatch", "pass -> unsupported",
                                             "silently_wrong -> pass", "class_mismatch -> pass",
                                             "silently_wrong -> class_mismatch"}));
  EXPECT_TRUE(list[0].worse && !list[0].better);
  EXPECT_TRUE(list[3].better && !list[3].worse);
}

TEST(classes, a_move_of_counts_is_worse_better_both_or_none) {
  using enum CaseClass;
  const ClassCounts base = counts({{pass, 10}, {class_mismatch, 2}});
  EXPECT_FALSE(class_change(base, base).any());
  const ClassChange worse = class_change(base, counts({{pass, 7}, {class_mismatch, 2}, {silently_wrong, 3}}));
  EXPECT_TRUE(worse.worse && !worse.better);
  EXPECT_EQ(to_string(worse), "pass -> silently_wrong");
  EXPECT_EQ(worse.cases, 3U);
  const ClassChange better = class_change(base, counts({{pass, 12}}));
  EXPECT_TRUE(better.better && !better.worse);
  EXPECT_EQ(to_string(better), "class_mismatch -> pass");
  // One more silent error, and yet more cases pass: neither hides the other.
  const ClassChange both = class_change(base, counts({{pass, 11}, {silently_wrong, 1}}));
  EXPECT_TRUE(both.worse && both.better);
  EXPECT_EQ(counts_text(base, counts({{pass, 12}})), "pass 10 -> 12, class_mismatch 2 -> 0");
}

}  // namespace
}  // namespace flashproof::compare
