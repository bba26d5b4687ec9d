// certify, as a child process.
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

// With and without a GPU: every option is looked at before anything is said about the machine.
TEST_F(Cli, certify_refuses_wrong_options_in_one_line) {
  for (const char* arguments :
       {"--format f33", "--format f16 --format e5m2", "--heads 8 --kv-heads 3", "--heads 2 --kv-heads 4", "--heads 0",
        "--length 0", "--length 1048577", "--dim 129", "--rows 0", "--memory 0", "--memory x", "--exec tpu",
        "--heads 16 --length 1048576 --dim 128"}) {
    for (const char* executor : {"", " --exec cpu", " --exec cuda"}) {
      if (*executor != '\0' && std::string(arguments).starts_with("--exec")) continue;
      EXPECT_EQ(run("certify " + std::string(arguments) + executor), kExitUsage) << arguments << executor;
      expect_one_line_complaint();
      EXPECT_THAT(err, HasSubstr("--")) << arguments;
    }
  }
}

TEST_F(Cli, certify_refuses_what_needs_too_much_memory_before_it_allocates) {
  // 2^30 elements in each of q, k and v, 4 bytes each.
  EXPECT_EQ(run("certify --exec cpu --heads 8 --length 1048576 --format f32"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("--length 1048576: certify would need "));
  EXPECT_THAT(err, HasSubstr("12.02 for q, k and v in f32"));
  EXPECT_THAT(err, HasSubstr("--memory allows 8.00 GiB"));
  // Every row of 1024 heads: two truths of 2^20 x 128 balls.
  EXPECT_EQ(run("certify --exec cpu --heads 1024 --length 1024 --rows 1024 --format f16"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("--rows 1024: certify would need "));
}

TEST_F(Cli, certify_on_the_cpu_compares_a_few_rows) {
  ASSERT_EQ(run("certify --exec cpu --heads 2 --length 64 --dim 16 --rows 8 --format f16 --memory 1"), kExitFine)
      << err;
  EXPECT_THAT(out, HasSubstr("16 of 128, a sample of 8 per head"));
  EXPECT_THAT(out, HasSubstr("8 of 8 rows overlap"));
  EXPECT_EQ(err, "");
}

TEST_F(Cli, certify_is_skipped_without_the_gpu_that_was_asked_for) {
  const int code = run("certify --exec cuda --heads 1 --length 64 --format f16 --sample 4");
  if (code != kExitSkipped) GTEST_SKIP() << "a GPU is present (certify gave " << code << ")";
  expect_one_line_complaint();
}

}  // namespace
}  // namespace flashproof
