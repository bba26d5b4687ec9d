#include "reference/system/run_command.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace flashproof {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

CommandLine shell(const std::string& line) { return {.words = {"sh", "-c", line}}; }

TEST(RunCommand, has_the_exit_code_of_the_program) {
  EXPECT_EQ(run_command(shell("exit 0")), 0);
  EXPECT_EQ(run_command(shell("exit 7")), 7);
  EXPECT_EQ(run_command(shell("kill -9 $$")), 128 + SIGKILL);
  EXPECT_EQ(run_command({.words = {"no such program"}}), 127);
  EXPECT_EQ(run_command({.words = {"true"}, .folder = "/no/such/folder"}), 127);
}

TEST(RunCommand, output_is_taken_whole_and_only_from_a_program_that_succeeds) {
  EXPECT_EQ(output_of(shell("printf 'a\\nb\\n\\n'; echo errors >&2")), "a\nb");
  EXPECT_EQ(output_of(shell("true")), "");
  EXPECT_EQ(output_of(shell("echo a; exit 1")), std::nullopt);
  EXPECT_EQ(output_of({.words = {"no such program"}}), std::nullopt);
  EXPECT_EQ(output_of({.words = {"printf", "%s|", "two words", "", "*"}}), "two words||*|");
  EXPECT_EQ(output_of(shell("head -c 200000 /dev/zero | tr '\\0' x"))->size(), 200'000U);
  EXPECT_EQ(output_of(shell("cat")), "") << "stdin is empty";
  EXPECT_EQ(output_of(shell("sleep 60 & echo a")), "a") << "what it leaves behind is not waited for";
}

TEST(RunCommand, runs_in_its_folder_with_its_environment) {
  ASSERT_EQ(::setenv("FLASHPROOF_COMMAND_TEST", "ours", 1), 0);
  CommandLine command = shell("pwd; echo ${FLASHPROOF_COMMAND_TEST-none} ${FLASHPROOF_COMMAND_OTHER-none}");
  command.folder = "/";
  command.environment = {{"FLASHPROOF_COMMAND_TEST", std::nullopt}, {"FLASHPROOF_COMMAND_OTHER", "theirs"}};
  EXPECT_EQ(output_of(command), "/\nnone theirs");
  EXPECT_STREQ(::getenv("FLASHPROOF_COMMAND_TEST"), "ours");
  ::unsetenv("FLASHPROOF_COMMAND_TEST");
}

TEST(RunCommand, writes_into_files) {
  std::string folder = testing::TempDir() + "flashproof-command-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  CommandLine command = shell("echo a; echo b >&2; echo c");
  command.output = folder + "/out";
  command.errors = folder + "/errors";
  EXPECT_EQ(run_command(command), 0);
  EXPECT_EQ(text_of(command.output), "a\nc\n");
  EXPECT_EQ(text_of(command.errors), "b\n");
  command.errors = command.output;
  EXPECT_EQ(run_command(command), 0);
  EXPECT_EQ(text_of(command.output), "a\nb\nc\n");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace flashproof
