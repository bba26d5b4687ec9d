// The kill table of a few faults, and that what the diffs say of today's habits is what the habits say.
#include "reports/faults/kill_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/run.h"
#include "reference/problem/error.h"
#include "reports/text.h"

namespace flashproof {
namespace {

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

TEST(KillTable, asks_the_gradient_laws_of_gradient_faults) {
  const FaultOutcome outcome = ask_everything(fault("attention_backward.broken.unseen_not_written"));
  EXPECT_FALSE(outcome.habits_asked);
  EXPECT_TRUE(law_of(outcome, "gradient_fully_written").rejects);
  EXPECT_FALSE(law_of(outcome, "gradient_rows_sum_to_zero").rejects);
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

// The column is computed; this is the check that the diffs were told the truth.
TEST(Habits, see_the_faults_marked_gross_and_no_others) {
  for (const SeededFault& f : seeded_faults()) {
    if (f.forward == nullptr) continue;
    const Habits habits = ask_habits(*find_kernel(f.id), *find_kernel(f.kernel));
    EXPECT_EQ(habits.allclose.sees || habits.twice.sees, f.gross)
        << f.number << " " << f.id << ": allclose " << habits.allclose.where << "; twice " << habits.twice.where;
  }
}

}  // namespace
}  // namespace flashproof
