// Workers that die or do not end, while fuzzing and in the local search: one finding each, with the input that did it.
#include <chrono>

#include "fuzz/campaign/test/campaign_fixture.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;

struct CrashCase {
  const char *kernel, *what, *term, *input, *case_line;
};
class Deaths : public CampaignTest, public testing::WithParamInterface<CrashCase> {};

TEST_P(Deaths, is_one_finding) {
  const CrashCase& crash = GetParam();
  EXPECT_EQ(run(options(crash.kernel, 1)), "1") << complained;
  const auto findings = archive().findings();
  ASSERT_EQ(findings.size(), 1U) << said;
  EXPECT_EQ(findings[0].what, crash.what);
  EXPECT_EQ(findings[0].term, crash.term);
  EXPECT_EQ(std::string(findings[0].input.begin(), findings[0].input.end()), crash.input);
  EXPECT_EQ(findings[0].case_line, crash.case_line);
  EXPECT_GE(findings[0].hits, 2U) << "the campaign did not go on with the next slice";
  EXPECT_THAT(said, HasSubstr(std::string("FAIL ") + crash.kernel));
  EXPECT_THAT(complained, HasSubstr(crash.what));
  EXPECT_TRUE(fs::exists(out.log() / (finding_name(findings[0]) + ".log")));
  if (*crash.input != '\0') {
    EXPECT_EQ(read_file(out.findings() / (finding_name(findings[0]) + ".input")), crash.input);
    EXPECT_EQ(std::distance(fs::directory_iterator(out.artifacts()), {}), 1);  // not one for each hit
  }
}

INSTANTIATE_TEST_SUITE_P(, Deaths,
                         testing::Values(CrashCase{"fake.signal", "crash", "SEGV", "", ""},
                                         CrashCase{"fake.asan", "sanitizer",
                                                   "AddressSanitizer: heap-buffer-overflow softmax.cu:12:3 in row_max",
                                                   "deadly", "fake:described"},
                                         CrashCase{"fake.hang", "hang", "", "deadly", "fake:described"},
                                         CrashCase{"fake.memory", "memory", "", "deadly", "fake:described"}),
                         [](const auto& info) { return std::string(info.param.kernel).substr(5); });

struct ClimbCrash {
  const char *kernel, *what, *term;
};
class ClimbDeaths : public CampaignTest, public testing::WithParamInterface<ClimbCrash> {};

TEST_P(ClimbDeaths, has_the_input_that_was_tried) {
  const ClimbCrash& crash = GetParam();
  Machine machine = quiet_machine();
  machine.patience = 0.3;
  EXPECT_EQ(run(options(crash.kernel, 1.2), machine), "1") << complained;
  const auto findings = archive().findings();
  ASSERT_EQ(findings.size(), 1U) << said;
  EXPECT_EQ(findings[0].what, crash.what);
  EXPECT_EQ(findings[0].term, crash.term);
  EXPECT_EQ(std::string(findings[0].input.begin(), findings[0].input.end()), "deadly climb");
  EXPECT_EQ(findings[0].case_line, "fake:described");
  EXPECT_THAT(said, HasSubstr("--format=f32 " + (out.findings() / finding_name(findings[0])).string() + ".input\n"));
  EXPECT_TRUE(fs::is_empty(out.artifacts()));
}

INSTANTIATE_TEST_SUITE_P(, ClimbDeaths,
                         testing::Values(ClimbCrash{"fake.climb_crash", "crash", "SEGV"},
                                         ClimbCrash{"fake.climb_hang", "hang", ""}),
                         [](const auto& info) { return std::string(info.param.kernel).substr(5); });

TEST_F(CampaignTest, a_climb_killed_from_outside_is_no_finding_and_leaves_no_file) {
  write_file(out.artifacts() / "fake.climb_lost.f32-0of1.0.1-climbing", "of a killed driver");
  EXPECT_EQ(run(options("fake.climb_lost", 1)), "0") << complained;
  EXPECT_TRUE(archive().findings().empty());
  EXPECT_TRUE(fs::is_empty(out.artifacts()));
}

TEST_F(CampaignTest, a_worker_that_does_not_end_in_time_hangs_one_that_was_stopped_does_not) {
  Machine machine = quiet_machine();
  machine.patience = 0.3;
  EXPECT_EQ(run(options("fake.stubborn", 1), machine), "1");
  ASSERT_EQ(archive().findings().size(), 1U);
  EXPECT_EQ(archive().findings()[0].what, "hang");
  EXPECT_EQ(archive().findings()[0].detail, "no end within 0.3 s after its time");
  out.root = folder / "second";
  machine.patience = 60, machine.grace = 0.3;
  const auto begin = Clock::now();
  machine.stop_requested = [&] { return Clock::now() - begin > std::chrono::milliseconds(500); };
  EXPECT_EQ(run(options("fake.stubborn", 60), machine), "0") << complained;
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
  EXPECT_TRUE(archive().findings().empty());
  EXPECT_GT(executions(), 100U);
}

}  // namespace
}  // namespace flashproof
