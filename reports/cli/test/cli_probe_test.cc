// probe, and --math and --profile, as child processes. With and without a GPU.
#include "kernels/run/run.h"
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

TEST_F(Cli, probe_without_a_gpu_is_skipped) {
  EXPECT_EQ(run("probe --frobnicate"), kExitUsage);
  EXPECT_EQ(run("probe --out ."), kExitUsage) << "a directory, found before anything is probed";
  expect_one_line_complaint();
  if (cuda_devices() > 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(run("probe --out profile.json"), kExitSkipped);
  expect_one_line_complaint();
  EXPECT_EQ(out, "");
  EXPECT_FALSE(std::filesystem::exists(folder / "profile.json"));
}

TEST_F(Cli, native_math_runs_on_the_cpu) {
  for (const char* command : {"check merge.pairwise_stable.hardened --family normal --quick",
                              "replay merge:normal:0 --kernel 'merge.states.*'",
                              "explain merge.pairwise_stable.hardened --case merge:normal:0"}) {
    EXPECT_EQ(run(std::string(command) + " --math native"), 0) << command << err;
    EXPECT_EQ(run(std::string(command) + " --math native --exec cpu --profile x.json"), kExitUsage) << command;
    expect_one_line_complaint();
  }
  EXPECT_EQ(run("replay merge:normal:0 --kernel merge.states.hardened --math all"), 0);
  EXPECT_THAT(out, testing::AllOf(testing::HasSubstr(" cpu "), testing::HasSubstr(" cpu.native ")));
}

TEST_F(Cli, options_of_native_math_are_checked) {
  for (const char* command : {"report --quick", "check 'merge.*' --quick", "replay merge:normal:0",
                              "explain merge.pairwise_stable.hardened --case merge:normal:0"}) {
    for (const char* options :
         {"--math fast", "--math fast --exec cuda", "--profile x.json", "--profile x.json --exec cuda"}) {
      EXPECT_EQ(run(std::string(command) + " " + options), kExitUsage) << command << " " << options;
      expect_one_line_complaint();
    }
    if (cuda_devices() == 0) {
      EXPECT_EQ(run(std::string(command) + " --math native --exec cuda"), kExitSkipped) << command;
    }
  }
  EXPECT_EQ(run("twin --math fast"), kExitUsage);
  expect_one_line_complaint();
}

}  // namespace
}  // namespace flashproof
