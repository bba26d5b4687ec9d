#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "reports/record/report.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

class ReplayCommand : public testing::Test {
 protected:
  ReplayCommand() {
    record.kernel = &kernel;
    record.family = "normal";
    record.worst.emplace();
    record.worst->family = "normal";
    record.worst->seed = 5;
  }
  std::string of(const std::string& witness) const { return replay_command(Finding{&record, "x", witness}); }

  Kernel kernel = *find_kernel("softmax.online_two_pass.published");
  Record record;
};

TEST_F(ReplayCommand, falls_back_to_the_recipe_and_quotes_for_a_shell) {
  EXPECT_EQ(of(""), "./flashproof replay softmax:normal:5:format=f32 --kernel softmax.online_two_pass.published");
  EXPECT_EQ(of("a'b"), "./flashproof replay 'a'\\''b'");
}

TEST_F(ReplayCommand, names_the_executor_of_a_finding_on_the_gpu) {
  record.executor = Executor::cuda;
  EXPECT_EQ(of(""),
            "./flashproof replay softmax:normal:5:format=f32 --exec cuda --kernel softmax.online_two_pass.published");
  EXPECT_EQ(of("a b"), "./flashproof replay 'a b' --exec cuda");
  kernel.math = Math::native;
  EXPECT_EQ(of("x"), "./flashproof replay x --exec cuda --math native");
}

TEST(WriteFindings, of_an_earlier_run_are_removed_and_nothing_else) {
  std::string folder = testing::TempDir() + "flashproof-findings-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const fs::path witnesses = fs::path(folder) / "witnesses";
  fs::create_directories(witnesses / "softmax.a.hardened.f32.directory.safetensors");
  const std::set<std::string> stale = {"softmax.online_two_pass.published.f32.normal.safetensors",
                                       "attention.gone_by_now.hardened.bf16.odd.cuda.safetensors"};
  const std::set<std::string> kept = {"notes.txt",
                                      "my.safetensors",
                                      "a.b.c.f33.d.safetensors",
                                      "f32.normal.safetensors",
                                      "softmax.a.hardened.f32.Mine.safetensors",
                                      "softmax.a.hardened.f32.x.safetensors~"};
  for (const auto* names : {&stale, &kept}) {
    for (const std::string& name : *names) std::ofstream(witnesses / name) << "x";
  }
  fs::create_symlink("notes.txt", witnesses / "softmax.a.hardened.f32.link.safetensors");
  remove_old_findings(folder);
  std::vector<Record> none;
  EXPECT_TRUE(write_findings(Plan{}, none, folder).empty());
  for (const std::string& name : stale) EXPECT_FALSE(fs::exists(witnesses / name)) << name;
  for (const std::string& name : kept) EXPECT_TRUE(fs::exists(witnesses / name)) << name;
  EXPECT_TRUE(fs::is_directory(witnesses / "softmax.a.hardened.f32.directory.safetensors"));
  EXPECT_TRUE(fs::is_symlink(witnesses / "softmax.a.hardened.f32.link.safetensors"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace flashproof
