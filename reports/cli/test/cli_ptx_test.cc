// --exec ptx: this project's kernels as nvcc's PTX. Skipped where there is no nvcc or no libLLVM.
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

class Ptx : public Cli {
 protected:
  /// False: skipped, and why was said.
  bool executes(const std::string& arguments, int code) {
    const int got = run(arguments);
    if (got == kExitSkipped && err.find("skipped: --exec ptx: ") != std::string::npos) return false;
    EXPECT_EQ(got, code) << err;
    return true;
  }
};

TEST_F(Ptx, a_kernel_is_judged_as_its_ptx_and_records_say_so) {
  if (!executes("report --quick --kernel softmax.safe.hardened --family normal --exec ptx", kExitFine))
    GTEST_SKIP() << err;
  const json report = json::parse(read_file(folder / "out/report.json"));
  EXPECT_EQ(report["runs"][0]["executors"], "ptx");
  ASSERT_FALSE(report["records"].empty());
  for (const json& record : report["records"]) {
    EXPECT_EQ(record["executor"], "ptx");
    EXPECT_EQ(record["verdict"], "pass");
  }
  ASSERT_EQ(run("merge out/report.json --out again"), kExitFine) << err;  // it is read, too
}

TEST_F(Ptx, native_math_has_bits_and_a_bound) {
  if (!executes("replay merge:normal:0:format=f32 --kernel merge.states.hardened --exec ptx --math native", kExitFine))
    GTEST_SKIP() << err;
  EXPECT_THAT(out, HasSubstr("ptx"));
}

TEST_F(Ptx, twin_compares_it_with_the_fibers) {
  if (!executes("twin --quick --kernel merge.states.hardened --exec ptx --math all", kExitFine)) GTEST_SKIP() << err;
  EXPECT_THAT(out, HasSubstr("# Twin check: CPU executor against the kernels' PTX on the CPU, bit for bit"));
  EXPECT_THAT(out, HasSubstr("| `merge.states.hardened` | f32 |"));
  EXPECT_THAT(out, HasSubstr("native` | f32 |"));
  EXPECT_THAT(out, HasSubstr("| 100 % | – |"));
}

TEST_F(Ptx, seeded_faults_have_none) {
  if (!executes("check merge.broken.misprinted_lse --quick --family normal --exec ptx", kExitFinding))
    GTEST_SKIP() << err;
  EXPECT_THAT(err, HasSubstr("no case was executed, so nothing was tested"));
}

TEST_F(Ptx, the_words_of_exec_are_those_of_the_command) {
  EXPECT_EQ(run("twin --exec cpu"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("cuda"));
  EXPECT_EQ(run("compare a b --exec ptx"), kExitUsage);
  expect_one_line_complaint();
}

}  // namespace
}  // namespace flashproof
