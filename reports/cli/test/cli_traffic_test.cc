// traffic, as a child process.
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

TEST_F(Cli, traffic_writes_a_table) {
  ASSERT_EQ(run("traffic --kernel 'softmax.online_*' --rows 2 --cols 128"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("softmax.online_two_pass.hardened"));
  EXPECT_THAT(out, HasSubstr("2MN"));
  EXPECT_THAT(out, HasSubstr("3.000"));
  EXPECT_THAT(out, Not(HasSubstr("dram")));
  std::ofstream(folder / "m.csv") << "kernel,format,rows,cols,dram_read,dram_write,requested_read,requested_write\n"
                                     "softmax.online_block.hardened,f32,8,8,256,512,256,128\n";
  ASSERT_EQ(run("traffic --kernel softmax.online_block.hardened --rows 2 --cols 128 --measured m.csv"), kExitFine)
      << err;
  EXPECT_THAT(out, HasSubstr("dram"));
  EXPECT_THAT(out, HasSubstr("2.000"));
}

TEST_F(Cli, traffic_names_the_kernels_that_do_not_take_the_shape) {
  ASSERT_EQ(run("traffic --rows 1"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("softmax.three_pass.published"));
  EXPECT_THAT(out, HasSubstr("left out: kernel softmax.warp_per_row.hardened: cols = 2048"));
  EXPECT_EQ(run("traffic --rows 1 --kernel softmax.warp_per_row.hardened"), kExitUsage);
  expect_one_line_complaint();
}

TEST_F(Cli, traffic_refuses_in_one_line) {
  ASSERT_EQ(run_shell("mkfifo pipe && ln -s /dev/zero zero && truncate -s 8T sparse"), 0);
  for (const char* arguments :
       {"traffic --rows 0", "traffic --cols -1", "traffic --rows 2097152 --cols 2", "traffic --rows x",
        "traffic --format f64", "traffic --kernel nothing", "traffic --kernel 'merge.*'", "traffic --measured none.csv",
        "traffic --measured pipe", "traffic --measured zero", "traffic --measured sparse", "traffic KERNEL"}) {
    EXPECT_EQ(run(arguments), kExitUsage) << arguments;
    expect_one_line_complaint();
  }
}

}  // namespace
}  // namespace flashproof
