// The kill table of a few faults, and that what the diffs say of today's habits is what the habits say.
#include "reports/faults/kill_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kernels/run/run.h"
#include "properties/laws/law.h"
#include "reference/system/error.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const LawOutcome& law_of(const FaultOutcome& outcome, std::string_view law) {
  return *std::ranges::find(outcome.laws, law, &LawOutcome::law);
}

const SeededFault& fault(std::string_view id) { return *find_fault(id); }

TEST(KillTable, says_who_rejects_and_where) {
  const FaultOutcome outcome = ask_everything(fault("softmax.broken.tail_dropped"));
  const LawOutcome& written = law_of(outcome, "outputs_fully_written");
  EXPECT_TRUE(written.rejects);
  EXPECT_THAT(written.where, HasSubstr("softmax:"));
  EXPECT_THAT(written.why, HasSubstr("were never written"));
  EXPECT_FALSE(law_of(outcome, "merge_commutes").rejects);
  EXPECT_EQ(law_of(outcome, "merge_commutes").executed, 0U);
  EXPECT_FALSE(outcome.gross());
}

TEST(KillTable, goes_down_the_doses) {
  const FaultOutcome outcome = ask_everything(fault("merge.broken.unshifted_lse"));
  const LawOutcome& bound = law_of(outcome, "within_bound");
  EXPECT_TRUE(bound.rejects);
  EXPECT_EQ(bound.weakest_dose, fault("merge.broken.unshifted_lse").dose.ladder.back());
}

TEST(KillTable, asks_the_laws_of_gradients_of_gradient_faults) {
  const Kernel& kernel = *find_kernel("attention_backward.broken.unseen_not_written");
  FaultOutcome outcome;
  outcome.fault = kernel.fault;
  for (const char* law : {"outputs_fully_written", "dq_is_zero_for_equal_keys"}) outcome.laws.push_back({.law = law});
  ask_laws(kernel, 0, outcome.laws);  // all of them: report --faults
  EXPECT_TRUE(law_of(outcome, "outputs_fully_written").rejects);
  EXPECT_FALSE(law_of(outcome, "dq_is_zero_for_equal_keys").rejects);
  EXPECT_GT(law_of(outcome, "dq_is_zero_for_equal_keys").executed, 100U);
}

TEST(KillTable, travels_as_a_line_and_names_survivors) {
  FaultOutcome outcome = ask_everything(fault("merge.broken.misprinted_lse"));
  const std::string line = outcome.serialize();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(FaultOutcome::deserialize(line).serialize(), line);

  KillTable table{.faults = {outcome}, .partial = false, .failure = {}};
  EXPECT_TRUE(table.survivors().empty());
  EXPECT_THAT(kill_table_text(table), HasSubstr("1 of 1 faults rejected"));
  for (LawOutcome& law : table.faults[0].laws) law.rejects = false;
  EXPECT_EQ(table.survivors().size(), 1U);
  EXPECT_THAT(kill_table_text(table), HasSubstr("SURVIVES"));
  EXPECT_THAT(kill_table_markdown(table), HasSubstr("**survives**"));
  nlohmann::json json = nlohmann::json::parse(kill_table_json(table));
  EXPECT_EQ(json["survivors"], 1);
  EXPECT_FALSE(json.contains("partial_reason"));
  table.partial = true;
  EXPECT_EQ(nlohmann::json::parse(kill_table_json(table))["partial_reason"], "interrupted");
  table.failure = "out of\nmemory";
  json = nlohmann::json::parse(kill_table_json(table));
  EXPECT_EQ(json["partial_reason"], one_line(table.failure));
  EXPECT_THAT(kill_table_markdown(table), HasSubstr("PARTIAL: " + one_line(table.failure)));
}

// One fault that takes its process with it is one row; the others are asked all the same.
TEST(KillTable, a_crash_is_a_row) {
  const auto ask = [](const SeededFault& asked) {
    if (asked.id == "softmax.broken.tail_dropped") std::abort();
    FaultOutcome outcome;
    outcome.fault = &asked;
    outcome.laws = {{.law = "within_bound", .executed = 1, .rejects = true, .where = "a case", .why = "why"}};
    return outcome;
  };
  const KillTable table = kill_table({"softmax.broken.*"}, 2, [](auto, auto) {}, ask);
  EXPECT_FALSE(table.partial) << table.failure;
  EXPECT_GT(table.faults.size(), 3U);
  ASSERT_EQ(table.crashed().size(), 1U);
  EXPECT_EQ(table.crashed()[0]->fault->id, "softmax.broken.tail_dropped");
  EXPECT_THAT(table.crashed()[0]->crash, HasSubstr("signal 6"));
  EXPECT_TRUE(table.survivors().empty());
  EXPECT_THAT(kill_table_text(table), AllOf(HasSubstr("ENDED ITS PROCESS"), HasSubstr("1 ended their process"),
                                            HasSubstr("tail_dropped: its process")));
  EXPECT_THAT(kill_table_markdown(table), HasSubstr("ENDED ITS PROCESS"));
  const nlohmann::json json = nlohmann::json::parse(kill_table_json(table));
  EXPECT_EQ(json["partial"], false);
  EXPECT_EQ(std::ranges::count_if(json["faults"], [](const auto& f) { return f.contains("crash"); }), 1);
}

TEST(KillTable, survivors_are_listed_by_fault_dose_and_law) {
  FaultOutcome outcome;
  outcome.fault = &fault("merge.broken.unshifted_lse");
  const auto ladder = outcome.fault->dose.ladder;
  ASSERT_GT(ladder.size(), 1U);
  outcome.laws = {{.law = "shift_invariance", .executed = 3}, {.law = "within_bound", .executed = 3}};
  KillTable table{.faults = {outcome}, .partial = false, .failure = {}};
  EXPECT_EQ(outcome.surviving_doses().size(), ladder.size());
  EXPECT_THAT(outcome.toothless_laws(), testing::ElementsAre("shift_invariance"));  // must_reject names it
  EXPECT_THAT(kill_table_text(table), HasSubstr("rejected by no law: "));
  table.faults[0].laws[1].rejects = true;
  table.faults[0].laws[1].weakest_dose = ladder.front();
  EXPECT_EQ(table.faults[0].surviving_doses().size(), ladder.size() - 1);
  EXPECT_THAT(kill_table_markdown(table), AllOf(HasSubstr("## Survivors"), HasSubstr("must reject it and does not")));
  table.faults[0].laws[0].rejects = true;
  table.faults[0].laws[1].weakest_dose = ladder.back();
  EXPECT_THAT(kill_table_text(table), HasSubstr("Survivors\n  none"));
}

TEST(KillTable, a_habit_that_compared_nothing_has_not_passed) {
  FaultOutcome outcome;
  outcome.fault = &fault("softmax.broken.tail_dropped");
  outcome.habits_asked = true;
  const KillTable table{.faults = {outcome}, .partial = false, .failure = {}};
  EXPECT_THAT(kill_table_text(table), AllOf(HasSubstr("untested"), HasSubstr("miss 0 of 0")));
  FaultOutcome tested = outcome;
  tested.allclose.tested = tested.twice.tested = true;
  EXPECT_THAT(kill_table_text({.faults = {tested}, .partial = false, .failure = {}}), HasSubstr("miss 1 of 1"));
}

TEST(KillTable, numbers_go_on_behind_F99) {
  SeededFault small, large;
  small.number = "F99";
  large.number = "F100";
  EXPECT_LT(number_of(small), number_of(large));
}

TEST(KillTable, refuses_a_pattern_without_a_fault) {
  EXPECT_THROW(kill_table({"softmax.safe.hardened"}, 1, [](auto, auto) {}), UsageError);
}

// A NaN is beyond every tolerance, wherever among the elements it stands.
TEST(Habits, see_a_nan) {
  const double nan = std::nan("");
  EXPECT_EQ(largest_of({0.1, 0.2, 0.05}), 0.2);
  EXPECT_TRUE(std::isnan(largest_of({nan, 0.2})));
  EXPECT_TRUE(std::isnan(largest_of({0.1, nan, 0.2, 0.05})));
  EXPECT_TRUE(std::isnan(largest_of({0.1, nan})));
  EXPECT_EQ(largest_of({}), 0);
}

}  // namespace
}  // namespace flashproof
