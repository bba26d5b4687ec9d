#include "fuzz/campaign/worker/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fuzz/campaign/worker/turns.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto at = values.find(name);
    return at == values.end() ? std::nullopt : std::optional(at->second);
  };
}

TEST(Shards, parse) {
  EXPECT_EQ(parse_shard("0/1"), (Shard{0, 1}));
  EXPECT_EQ(parse_shard("7/8"), (Shard{7, 8}));
  for (const char* wrong :
       {"", "/", "1", "1/", "/2", "2/2", "-1/2", "0/0", "0/1000001", "1/2/3", " 0/1", "0/1 ", "01/2"}) {
    const std::string said = message_of([&] { parse_shard(wrong); });
    EXPECT_THAT(said, HasSubstr("--shard")) << wrong;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
}

TEST(Shards, of_the_environment) {
  EXPECT_EQ(shard_of(environment({})), std::nullopt);
  EXPECT_EQ(shard_of(environment({{"SLURM_ARRAY_TASK_ID", "3"}, {"SLURM_ARRAY_TASK_COUNT", "4"}})), (Shard{3, 4}));
  EXPECT_EQ(shard_of(environment({{"SLURM_ARRAY_TASK_ID", "14"},
                                  {"SLURM_ARRAY_TASK_COUNT", "4"},
                                  {"SLURM_ARRAY_TASK_MIN", "10"},
                                  {"SLURM_ARRAY_TASK_STEP", "2"}})),
            (Shard{2, 4}));
  EXPECT_EQ(shard_of(environment({{"JOB_COMPLETION_INDEX", "1"}, {"JOB_COMPLETIONS", "2"}})), (Shard{1, 2}));
  EXPECT_THAT(message_of([] { shard_of(environment({{"SLURM_ARRAY_TASK_ID", "3"}})); }), HasSubstr("--shard i/N"));
  EXPECT_THAT(message_of([] { shard_of(environment({{"JOB_COMPLETION_INDEX", "3"}})); }), HasSubstr("JOB_COMPLETIONS"));
  EXPECT_THAT(
      message_of([] { shard_of(environment({{"SLURM_ARRAY_TASK_ID", "9"}, {"SLURM_ARRAY_TASK_COUNT", "4"}})); }),
      HasSubstr("beyond"));
  EXPECT_THAT(message_of([] { shard_of(environment({{"JOB_COMPLETION_INDEX", "2"}, {"JOB_COMPLETIONS", "2"}})); }),
              HasSubstr("0..1"));
}

TEST(Shards, every_subject_is_somebodys_and_no_shard_is_idle) {
  for (const std::size_t count : {1U, 5U, 9U}) {
    for (const std::uint64_t shards : {1U, 2U, 4U, 12U}) {
      std::multiset<std::size_t> all;
      for (std::uint64_t i = 0; i < shards; ++i) {
        const auto members = shard_members(count, {i, shards});
        EXPECT_FALSE(members.empty());
        all.insert(members.begin(), members.end());
      }
      EXPECT_EQ(std::set<std::size_t>(all.begin(), all.end()).size(), count);
      EXPECT_EQ(all.size(), std::max<std::size_t>(count, shards));  // none twice, unless there are shards to spare
    }
  }
}

TEST(Slices, length) {
  EXPECT_EQ(slice_seconds(600, 2, 60), 20);
  EXPECT_EQ(slice_seconds(10, 2, 60), 5);
  EXPECT_EQ(slice_seconds(1e6, 2, 60), 60);
}

TEST(Slices, split_keeps_the_time_and_leaves_no_phase_too_short_to_start) {
  EXPECT_EQ(split_slice(60, 1000, true).fuzz, 45);
  EXPECT_EQ(split_slice(60, 1000, true).climb, 15);
  EXPECT_EQ(split_slice(60, 1000, false).fuzz, 60);
  EXPECT_EQ(split_slice(60, 1000, false).climb, 0);
  EXPECT_EQ(split_slice(60, 8, true).fuzz, 6);
  EXPECT_EQ(split_slice(60, 0.6, true).fuzz, 0.6);
  EXPECT_EQ(split_slice(60, 0.6, true).climb, 0);
  EXPECT_EQ(split_slice(60, 0.1, true).fuzz, 0);
}

TEST(Slices, who_had_least_comes_first) { EXPECT_THAT(turns({3, 0, 1, 0}), ElementsAre(1, 3, 2, 0)); }

TEST(Slices, seeds_differ) {
  std::set<std::uint32_t> seeds;
  std::size_t made = 0;
  for (std::uint64_t seed : {0U, 1U}) {
    for (std::uint64_t shard : {0U, 1U, 2U}) {
      for (std::uint64_t restart : {0U, 1U}) {
        for (std::uint64_t start = 0; start < 50; ++start, ++made)
          seeds.insert(engine_seed(seed, shard, restart, start));
      }
    }
  }
  EXPECT_EQ(seeds.size(), made);
  EXPECT_FALSE(seeds.contains(0));
  EXPECT_EQ(engine_seed(5, 6, 7, 8), engine_seed(5, 6, 7, 8));
}

std::string text(const std::optional<Job>& job) {
  if (!job) return "wait";
  const char* kind = job->kind == Job::Kind::fuzz ? "fuzz" : job->kind == Job::Kind::climb ? "climb" : "minimise";
  return std::string(kind) + " " + std::to_string(job->subject);
}

TEST(Turns, round_robin_with_a_climb_behind_each_slice_and_minimising_before) {
  Turns turns({1, 0}, 20, true, 2);
  EXPECT_EQ(text(turns.next(0, 0, 100)), "fuzz 1");
  EXPECT_EQ(text(turns.next(1, 0, 100)), "fuzz 0");
  turns.want_minimise(0);
  turns.want_minimise(0);
  EXPECT_EQ(text(turns.next(0, 15, 85)), "minimise 0");
  EXPECT_EQ(text(turns.next(0, 15, 85)), "climb 1");
  EXPECT_EQ(text(turns.next(0, 20, 80)), "fuzz 1");
  EXPECT_EQ(text(turns.next(1, 20, 80)), "climb 0");
  EXPECT_EQ(text(turns.next(1, 20, 0.1)), "wait");
}

TEST(Turns, minimising_has_its_time_also_at_the_end_and_after_it) {
  Turns turns({0}, 20, true, 1);
  const auto seconds = [&](double left) {
    turns.want_minimise(0);
    const auto job = left > 0 ? turns.next(0, 0, left) : turns.next_minimise(left);
    return job ? job->seconds : -1;
  };
  EXPECT_EQ(seconds(1000), kMinimiseSeconds);
  EXPECT_EQ(seconds(1), kMinimiseSeconds);
  EXPECT_EQ(seconds(-20), kMinimiseSeconds - 20);
  EXPECT_EQ(seconds(-kMinimiseSeconds), -1);
}

TEST(Turns, a_subject_that_keeps_dying_waits_longer_each_time) {
  Turns turns({0}, 20, true, 1);
  double now = 0, last = 0;
  for (int crash = 0; crash < 5; ++crash) {
    ASSERT_EQ(text(turns.next(0, now, 100)), "fuzz 0");
    turns.crashed(0, 0, now);
    double wait = 0;
    while (text(turns.next(0, now + wait, 100)) == "wait") wait += 0.05;
    EXPECT_GT(wait, last);
    last = wait, now += wait + 0.05;
    turns.crashed(0, 0, now);  // the one that the loop took
    now += 100;
  }
  turns.survived(0);
  turns.crashed(0, 0, now);
  EXPECT_EQ(text(turns.next(0, now + 0.15, 100)), "fuzz 0");
}

TEST(Turns, a_restarted_worker_has_the_rest_of_its_time) {
  Turns turns({0}, 20, true, 1);
  const auto job = turns.next(0, 0, 100);
  turns.again(0, *job, 5);
  const auto rest = turns.next(0, 5, 95);
  EXPECT_EQ(text(rest), "fuzz 0");
  EXPECT_EQ(rest->seconds, 10);
  EXPECT_EQ(text(turns.next(0, 15, 85)), "climb 0");
}

}  // namespace
}  // namespace flashproof
