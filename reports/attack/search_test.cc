#include "reports/attack/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "reports/attack/campaign.h"
#include "reports/attack/replay.h"
#include "reports/attack/validate.h"
#include "reports/ledger/text.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

const Kernel& kernel(const char* id) {
  const Kernel* found = find_kernel(id);
  if (found == nullptr) throw std::logic_error(id);
  return *found;
}

std::string lines(const std::vector<LedgerEntry>& entries) {
  std::string text;
  for (const LedgerEntry& e : entries) text += entry_line(e) + "\n";
  return text;
}

std::vector<LedgerEntry> searched(const Kernel& target, int steps, std::uint64_t seed,
                                  const std::vector<LedgerEntry>& known = {}) {
  Search search(target, Format::f32, seed, known);
  for (int i = 0; i < steps; ++i) search.step();
  return search.entries();
}

TEST(Search, finds_the_same_again_and_its_entries_replay) {
  const Kernel& target = kernel("merge.pairwise_stable.hardened");
  const std::vector<LedgerEntry> found = searched(target, 200, 5);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(lines(found), lines(searched(target, 200, 5)));
  int climbed = 0;
  for (const LedgerEntry& e : found) {
    EXPECT_TRUE(replays(e.best, replay(e))) << entry_line(e);
    climbed += e.mutations.empty() ? 0 : 1;
  }
  EXPECT_GT(climbed, 0);
}

TEST(Search, of_a_gradient_changes_its_inputs_and_d_out) {
  const Kernel& target = kernel("attention_backward.two_kernels.hardened");
  const std::vector<LedgerEntry> found = searched(target, 220, 5);
  ASSERT_FALSE(found.empty());
  std::size_t of_d_out = 0, of_forward = 0;
  for (const LedgerEntry& e : found) {
    EXPECT_TRUE(replays(e.best, replay(e))) << entry_line(e);
    for (const Mutation& m : e.mutations) ++((m.column & kChangesDOut) != 0 ? of_d_out : of_forward);
    EXPECT_EQ(entry_line(parse_entry_line(entry_line(e))), entry_line(e));
  }
  EXPECT_GT(of_d_out, 0U);
  EXPECT_GT(of_forward, 0U);
}

TEST(Search, never_forgets_what_it_was_given) {
  const Kernel& target = kernel("softmax.online_two_pass.hardened");
  const std::vector<LedgerEntry> known = searched(target, 160, 1);
  const std::vector<LedgerEntry> later = searched(target, 20, 2, known);
  for (const LedgerEntry& before : known) {
    for (const LedgerEntry& after : later) {
      if (!after.same_key(before)) continue;
      EXPECT_FALSE(before.best.better_than(after.best)) << entry_line(before);
    }
  }
  EXPECT_GE(later.size(), known.size());
}

/// The negative control: errors that the declared arithmetic does not explain do not become a record, they are reported.
TEST(Search, a_kernel_that_leaves_its_bound_is_a_violation_with_its_case) {
  Search search(kernel("attention.broken.accumulator_not_rescaled"), Format::f32, 3);
  for (int i = 0; i < 60 && search.violation().empty(); ++i) search.step();
  EXPECT_THAT(search.violation(), HasSubstr("error"));
  EXPECT_FALSE(search.violation_origin().spec.family.empty());
  for (const LedgerEntry& e : search.entries()) EXPECT_LE(e.best.ratio, 1) << entry_line(e);
}

TEST(Search, starts_have_the_stated_shape_and_only_finite_entries) {
  const CaseSpec plain = parse_case_spec("softmax:normal:1:rows=4,cols=512");
  EXPECT_TRUE(full_case(plain));
  EXPECT_FALSE(full_case(parse_case_spec("softmax:mask_first_tile:1:rows=4,cols=512")));
  EXPECT_FALSE(full_case(parse_case_spec("softmax:special_values:1:rows=4,cols=512")));
}

TEST(Attack, hands_back_every_target_and_zero_seconds_only_measure_again) {
  const std::vector<AttackTarget> targets = {{&kernel("merge.pairwise_stable.hardened"), Format::f32},
                                             {&kernel("merge.pairwise_stable.hardened"), Format::bf16}};
  Ledger known;
  known.put(searched(kernel("merge.pairwise_stable.hardened"), 60, 9).front(), "test");
  AttackOptions options;
  options.seconds = 0;
  options.jobs = 2;
  const AttackResult again = attack(targets, known, options);
  EXPECT_EQ(again.evaluations, 0U);
  ASSERT_FALSE(again.entries.empty());
  const auto same = [&](const LedgerEntry& e) { return e.same_key(known.entries.front()); };
  const auto at = std::find_if(again.entries.begin(), again.entries.end(), same);
  ASSERT_NE(at, again.entries.end());
  EXPECT_TRUE(replays(known.entries.front().best, at->best));

  options.seconds = 0.4;
  const AttackResult more = attack(targets, known, options);
  EXPECT_GT(more.evaluations, 0U);
  EXPECT_FALSE(more.partial);
  EXPECT_TRUE(more.findings.empty());
  EXPECT_GT(more.entries.size(), again.entries.size());
}

void launch_crash(const MergeArgs&, Stream) {
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

TEST(Attack, a_kernel_that_takes_its_process_down_is_a_finding) {
  Kernel crash = kernel("merge.pairwise_stable.hardened");
  crash.id = "merge.crash.hardened";
  crash.launch = launch_crash;
  AttackOptions options;
  options.seconds = 0.2;
  const AttackResult result = attack({{&crash, Format::f32}}, {}, options);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_THAT(result.findings[0].what, HasSubstr("killed by signal 6"));
}

TEST(Validate, counts_cases_that_tested_something_and_results_outside_their_bound) {
  const Validation good =
      validate_bounds({{"softmax.online_two_pass.hardened"}, {"normal", "mask_row"}, {"f32"}}, {.cases = 3});
  ASSERT_EQ(good.records.size(), 2U);
  for (const Record& r : good.records) {
    EXPECT_EQ(r.cases, 3U);
    EXPECT_EQ(violations(r), 0U);
    EXPECT_GT(tested(r), 0U);
  }
  EXPECT_EQ(good.runs, 6U);
  const Validation bad = validate_bounds({{"merge.broken.misprinted_lse"}, {"normal"}, {"f32"}}, {.cases = 2});
  ASSERT_EQ(bad.records.size(), 1U);
  EXPECT_GT(violations(bad.records[0]), 0U);
  EXPECT_THAT(validation_table(bad), HasSubstr("elements outside their bound, worst case merge:normal:"));
}

/// Blocks of seeds merge to what one run of all of them gives.
TEST(Validate, does_not_depend_on_the_blocks) {
  const Filters filters{{"merge.pairwise_stable.hardened"}, {"normal"}, {"f32"}};
  const Validation all = validate_bounds(filters, {.cases = 130, .jobs = 2});
  ASSERT_EQ(all.records.size(), 1U);
  EXPECT_EQ(all.records[0].cases, 130U);
  Record sum = validate_bounds(filters, {.cases = 65, .jobs = 1}).records.at(0);
  sum.merge(validate_bounds(filters, {.cases = 65, .first_seed = 65, .jobs = 1}).records.at(0));
  EXPECT_EQ(sum.cases, 130U);
  EXPECT_EQ(sum.o.elements, all.records[0].o.elements);
  EXPECT_EQ(sum.o.max_ratio, all.records[0].o.max_ratio);
}

}  // namespace
}  // namespace flashproof
