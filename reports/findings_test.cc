#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "reports/report.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

TEST(ReplayCommand, falls_back_to_the_case_line_and_quotes_for_a_shell) {
  EXPECT_EQ(replay_command(Finding{nullptr, "softmax:normal:5:cols=3,rows=2", ""}),
            "./flashproof replay softmax:normal:5:cols=3,rows=2");
  EXPECT_EQ(replay_command(Finding{nullptr, "x", "a'b"}), "./flashproof replay 'a'\\''b'");
}

TEST(ReplayCommand, names_the_executor_of_a_finding_on_the_gpu) {
  Kernel kernel = *find_kernel("softmax.online_two_pass.published");
  Record record;
  record.kernel = &kernel;
  EXPECT_EQ(replay_command(Finding{&record, "x", ""}), "./flashproof replay x");
  record.executor = Executor::cuda;
  EXPECT_EQ(replay_command(Finding{&record, "x", ""}), "./flashproof replay x --exec cuda");
  EXPECT_EQ(replay_command(Finding{&record, "x", "a b"}), "./flashproof replay 'a b' --exec cuda");
  kernel.math = Math::native;
  EXPECT_EQ(replay_command(Finding{&record, "x", ""}), "./flashproof replay x --exec cuda --math native");
}

TEST(WriteFindings, removes_the_witnesses_of_an_earlier_run_and_nothing_else) {
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
  EXPECT_TRUE(write_findings(Plan{}, {}, folder).empty());
  for (const std::string& name : stale) EXPECT_FALSE(fs::exists(witnesses / name)) << name;
  for (const std::string& name : kept) EXPECT_TRUE(fs::exists(witnesses / name)) << name;
  EXPECT_TRUE(fs::is_directory(witnesses / "softmax.a.hardened.f32.directory.safetensors"));
  EXPECT_TRUE(fs::is_symlink(witnesses / "softmax.a.hardened.f32.link.safetensors"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace flashproof
