#include "reports/attack/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "reports/attack/replay.h"
#include "reports/attack/validate.h"
#include "reports/ledger/text.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

const Kernel& kernel(const char* id) { return *find_kernel(id); }

std::vector<LedgerEntry> searched(const Kernel& target, int steps, std::uint64_t seed,
                                  const std::vector<LedgerEntry>& known = {}) {
  Search search(target, Format::f32, seed);
  go_on_from(search, known);
  for (int i = 0; i < steps; ++i) search.step();
  return entries_of(search);
}

TEST(Search, entries_replay_and_read_back) {
  for (const auto& [id, steps] :
       {std::pair("merge.pairwise_stable.hardened", 200), std::pair("attention_backward.two_kernels.hardened", 150)}) {
    const std::vector<LedgerEntry> found = searched(kernel(id), steps, 5);
    EXPECT_FALSE(found.empty());
    for (const LedgerEntry& e : found) {
      EXPECT_TRUE(replays(e.best, replay(e))) << entry_line(e);
      EXPECT_EQ(entry_line(parse_entry_line(entry_line(e))), entry_line(e));
    }
  }
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
  const LedgerEntry& first = known.entries.front();
  const LedgerEntry* at = again.found.find(first.kernel, first.format, first.term);
  ASSERT_NE(at, nullptr);
  EXPECT_TRUE(replays(first.best, at->best));

  options.seconds = 0.4;
  const AttackResult more = attack(targets, known, options);
  EXPECT_GT(more.evaluations, 0U);
  EXPECT_FALSE(more.partial);
  EXPECT_TRUE(more.findings.empty());
  EXPECT_GT(more.found.entries.size(), again.found.entries.size());
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
