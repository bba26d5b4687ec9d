// Which seeded faults the diagnosis names. The quick part asks a handful; FLASHPROOF_EVERY_FAULT all of the forward ones.
#include "reports/faults/diagnosis.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/run/observe.h"
#include "properties/laws/support/race_observer.h"
#include "reports/faults/kill_table.h"

namespace flashproof {
namespace {

KillTable diagnosed(const std::vector<std::string>& globs) {
  set_race_observer(observe);
  return kill_table(
      globs, 2, [](auto, auto) {},
      [](const SeededFault& fault) {
        FaultOutcome outcome;
        outcome.fault = &fault;
        outcome.causes = diagnose_fault(fault);
        return outcome;
      });
}

std::string told(const FaultOutcome& outcome) {
  std::string text(outcome.fault->id);
  for (const Cause& cause : outcome.causes) text += "\n" + cause.serialize();
  return text;
}

#ifndef FLASHPROOF_EVERY_FAULT
TEST(Diagnosis, names_a_handful_of_faults) {
  const KillTable table =
      diagnosed({"merge.broken.misprinted_lse", "merge.broken.merged_in_base_2", "softmax.broken.tail_dropped",
                 "attention.broken.scale_twice", "attention.broken.lse_in_base_2", "attention.broken.causal_top_left",
                 "attention.broken.window_one_wide"});
  EXPECT_FALSE(table.partial) << table.failure;
  EXPECT_EQ(table.faults.size(), 7U);
  for (const FaultOutcome& outcome : table.faults) EXPECT_EQ(outcome.named(), Named::rightly) << told(outcome);
}
#else
TEST(Diagnosis, names_most_faults_and_none_wrongly) {
  const KillTable table = diagnosed({"merge.broken.*", "softmax.broken.*", "attention.broken.*"});
  EXPECT_FALSE(table.partial) << table.failure;
  std::set<std::string_view> rightly, of;  // by number: two diffs of one number are one fault, named where both are
  for (const FaultOutcome& outcome : table.faults) of.insert(outcome.fault->number);
  rightly = of;
  for (const FaultOutcome& outcome : table.faults) {
    EXPECT_NE(outcome.named(), Named::wrongly) << told(outcome);
    if (outcome.named() != Named::rightly) rightly.erase(outcome.fault->number);
  }
  EXPECT_GE(rightly.size(), 45U) << "of " << of.size();
}
#endif

TEST(Diagnosis, a_fault_says_what_would_be_right) {
  for (const SeededFault& fault : seeded_faults()) EXPECT_FALSE(fault.cause.empty()) << fault.id;
}

TEST(Diagnosis, is_right_only_where_every_confident_cause_is) {
  SeededFault fault;
  fault.cause = "scale.twice nan:lse";
  const auto cause = [](const char* id, bool confident) {
    Cause c;
    c.id = id, c.confident = confident;
    return c;
  };
  EXPECT_EQ(named_by(fault, {}), Named::nothing);
  EXPECT_EQ(named_by(fault, {cause("scale.twice", false)}), Named::nothing);
  EXPECT_EQ(named_by(fault, {cause("scale.twice", true)}), Named::rightly);
  EXPECT_EQ(named_by(fault, {cause("scale.twice", true), cause("heads.first", true)}), Named::wrongly);
  EXPECT_EQ(named_by(fault, {cause("scale.twice", true), cause("heads.first", false)}), Named::rightly);
  EXPECT_EQ(named_by(fault, {cause("nan:lse+rows", true)}), Named::rightly);
  EXPECT_EQ(named_by(fault, {cause("nan:rows", true)}), Named::wrongly);
  EXPECT_EQ(named_by(fault, {cause("empty:lse", true)}), Named::wrongly);
  Cause either = cause("heads.first", true);
  either.others = {"scale.twice"};
  EXPECT_EQ(named_by(fault, {either}), Named::rightly);
}

}  // namespace
}  // namespace flashproof
