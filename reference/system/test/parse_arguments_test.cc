#include "reference/system/parse_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::StrEq;

/// The complaint about a command line of a program with two commands; "" where there is none.
std::string complaint(std::vector<std::string> words) {
  CLI::App app{"a program"};
  app.require_subcommand(1);
  std::string out, kernel;
  bool quick = false;
  CLI::App* check = app.add_subcommand("check", "");
  check->add_option("KERNEL", kernel);
  check->add_flag("--quick", quick);
  check->add_option("--out,--junit", out);
  app.add_subcommand("truth", "")->add_option("--out", out)->required();
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  try {
    EXPECT_TRUE(parse_arguments(app, static_cast<int>(argv.size()), argv.data()));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(ParseArguments, an_unknown_command_names_the_nearest) {
  EXPECT_THAT(complaint({"chekc"}), StrEq(R"(unknown command "chekc" (did you mean check?))"));
  EXPECT_THAT(complaint({"--quick", "chekc"}), HasSubstr("did you mean check?"));
  EXPECT_THAT(complaint({"zzz"}), StrEq(R"(unknown command "zzz"; there are: check, truth)"));
  EXPECT_THAT(complaint({"c\033[2J\n"}), HasSubstr(R"(unknown command "c\x1b[2J\x0a")"));
}

TEST(ParseArguments, an_unknown_option_names_the_nearest_of_its_command) {
  EXPECT_EQ(complaint({"check", "--quick"}), "");
  EXPECT_THAT(complaint({"check", "x", "--quik"}),
              StrEq(R"(unknown option "--quik" (did you mean --quick?); --help lists them)"));
  EXPECT_THAT(complaint({"check", "--quik=1"}), HasSubstr("did you mean --quick?"));
  EXPECT_THAT(complaint({"truth", "--quick"}), StrEq(R"(unknown option "--quick"; --help lists them)"));
}

TEST(ParseArguments, a_misspelt_option_is_the_cause_of_one_that_is_missing) {
  EXPECT_THAT(complaint({"truth", "--otu", "file"}), HasSubstr("did you mean --out?"));
  EXPECT_THAT(complaint({"truth"}), HasSubstr("--out is required"));
  EXPECT_THAT(complaint({"check", "x", "y"}), HasSubstr("not expected: y"));
}

}  // namespace
}  // namespace flashproof
