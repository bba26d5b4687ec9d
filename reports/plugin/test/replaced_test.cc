// A library whose file is not the same from the first time that it is loaded to the verdict: the verdict names a file, so it is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "reports/plugin/test/program_run.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

class Replaced : public testing::TestWithParam<const char*> {
 protected:
  Replaced() {
    std::string made = testing::TempDir() + "flashproof-replaced-XXXXXX";
    out = ::mkdtemp(made.data());
    std::filesystem::copy_file(std::string(FLASHPROOF_TEST_PLUGINS) + "/replacing.so", out + "/replacing.so");
  }
  ~Replaced() override { std::filesystem::remove_all(out); }

  ProgramRun check(const std::string& kernel, const std::string& library = "replacing.so") const {
    return run_plugin_program({"check", out + "/" + library, "--kernel", "softmax." + kernel + ".replacing", "--law",
                               "within_bound", "--family", "normal", "--cases", "2", "--jobs", "2", "--json",
                               out + "/result.json", "--junit", out + "/junit.xml", "--out", out});
  }

  std::string out;
};

TEST_P(Replaced, library_is_no_pass) {
  const ProgramRun run = check(GetParam());
  EXPECT_EQ(run.code(), 3) << run.out;
  EXPECT_THAT(run.out, Not(HasSubstr("PASS")));
  EXPECT_THAT(run.err, HasSubstr("replacing.so\" was changed or replaced while it was checked"));
  EXPECT_FALSE(std::filesystem::exists(out + "/result.json"));
}

INSTANTIATE_TEST_SUITE_P(All, Replaced, testing::Values("move_and_back", "lengthen", "take_away"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Replaced, one_that_leaves_its_file_alone_passes) {
  const ProgramRun run = check("nothing");
  EXPECT_EQ(run.code(), 0) << run.out << run.err;
  EXPECT_TRUE(std::filesystem::exists(out + "/result.json"));
}

TEST_F(Replaced, link_that_led_elsewhere_is_no_pass) {
  std::filesystem::create_symlink("replacing.so", out + "/link.so");
  EXPECT_EQ(check("nothing", "link.so").code(), 0);
  const ProgramRun run = check("link_again", "link.so");
  EXPECT_EQ(run.code(), 3) << run.out;
  EXPECT_THAT(run.err, HasSubstr("link.so\" was changed or replaced while it was checked"));
}

TEST_F(Replaced, wrong_kernel_is_a_finding_whatever_it_does_to_its_file) {
  const ProgramRun run = check("wrong");
  EXPECT_EQ(run.code(), 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("FAIL"));
  EXPECT_THAT(run.err, HasSubstr("was changed or replaced while it was checked"));
  EXPECT_TRUE(std::filesystem::exists(out + "/result.json"));
  EXPECT_TRUE(std::filesystem::exists(out + "/junit.xml"));
}

TEST_F(Replaced, nothing_is_suggested_of_a_library_that_changed) {
  const ProgramRun run = run_plugin_program(
      {"suggest", out + "/replacing.so", "--kernel", "softmax.lengthen.*", "--family", "normal", "--cases", "1"});
  EXPECT_EQ(run.code(), 3) << run.out;
  EXPECT_THAT(run.out, Not(HasSubstr("FOUND")));
  EXPECT_THAT(run.err, HasSubstr("was changed or replaced"));
}

}  // namespace
}  // namespace flashproof
