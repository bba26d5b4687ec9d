#include "reports/compare/classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "reference/error/verdict.h"

namespace flashproof::compare {
namespace {

TEST(classes, every_verdict_and_failure_of_a_report_has_a_rung) {
  for (std::size_t i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    if (kind == VerdictKind::fail) continue;
    EXPECT_EQ(name(class_of(kind, Failure::none)), flashproof::name(kind));
  }
  for (std::size_t i = 1; i < kFailures; ++i) {
    const auto failure = static_cast<Failure>(i);
    EXPECT_EQ(name(class_of(VerdictKind::fail, failure)), flashproof::name(failure));
  }
  EXPECT_EQ(kCaseClasses, kVerdictKinds - 1 + kFailures - 1);
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

TEST(classes, counts_are_told_where_they_differ) {
  ClassCounts base{}, head{};
  base[static_cast<std::size_t>(CaseClass::pass)] = 10;
  base[static_cast<std::size_t>(CaseClass::class_mismatch)] = 2;
  head[static_cast<std::size_t>(CaseClass::pass)] = 12;
  EXPECT_EQ(counts_text(base, head), "pass 10 -> 12, class_mismatch 2 -> 0");
  EXPECT_EQ(counts_text(base, base), "");
  EXPECT_FALSE(class_change(CaseClass::leak, CaseClass::leak).any());
}

}  // namespace
}  // namespace flashproof::compare
