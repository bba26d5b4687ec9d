// The table of options: what it may hold, and that a parser of CLI11 refuses what it says, in its words.
#include "reference/system/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "reference/system/add_option.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

TEST(option_table, no_command_has_an_option_twice_and_every_one_has_a_help) {
  std::set<std::string> commands;
  for (const OptionDeclaration& option : option_table()) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_TRUE(option.is_positional() || option.name.starts_with("--")) << option.name;
    std::istringstream words{std::string(option.commands)};
    for (std::string command; words >> command;) commands.insert(command);
  }
  for (const std::string& command : commands) {
    std::set<std::string_view> names;
    for (const OptionDeclaration* option : options_of(command)) {
      EXPECT_TRUE(names.insert(option->name).second) << command << " " << option->name;
      EXPECT_EQ(&declared_option(command, option->name), option);
    }
  }
  EXPECT_TRUE(options_of("check-librar").empty());
  EXPECT_THROW(declared_option("report", "--law"), std::logic_error);
}

TEST(legal_value, refuses_what_lies_beyond_and_says_what_does_not) {
  const LegalValue whole = whole_number(1, 4096), real = real_number(0.1, 1e8), word = one_of({"det", "native"});
  EXPECT_EQ(whole.whole("--jobs", "4096"), 4096U);
  for (const char* wrong : {"0", "4097", "-1", "1.0", "0x10", " 1", "", "18446744073709551616", "nan"}) {
    EXPECT_EQ(message_of([&] { whole.whole("--jobs", wrong); }),
              std::string("--jobs \"") + wrong + "\": must be 1..4096");
  }
  EXPECT_EQ(real.real("--seconds", "1e-1"), 0.1);
  EXPECT_EQ(real.real("--seconds", "100000000"), 1e8);
  for (const char* wrong : {"0.09", "1e9", "nan", "inf", "-1", "1s", ""}) {
    EXPECT_EQ(message_of([&] { real.real("--seconds", wrong); }),
              std::string("--seconds \"") + wrong + "\": must be 0.1..100000000");
  }
  EXPECT_EQ(message_of([&] { word.require_word("--math", "native"); }), "(nothing was thrown)");
  EXPECT_EQ(message_of([&] { word.require_word("--math", "nativ"); }), "--math \"nativ\": legal det, native");
}

TEST(add_option, a_parser_refuses_in_the_same_words) {
  int jobs = 7;
  double seconds = 0;
  std::string word;
  std::filesystem::path file;
  const auto parse = [&](std::vector<std::string> words) {
    CLI::App app;
    add_legal(&app, "--jobs", jobs, "N", whole_number(1, 3), "");
    add_legal(&app, "--seconds", seconds, "S", real_number(0, 2), "");
    add_legal(&app, "--math", word, "MATH", one_of({"det", "native"}), "");
    add_legal(&app, "--out", file, "FILE", {}, "");
    words.insert(words.begin(), "program");
    std::vector<char*> argv;
    for (std::string& one : words) argv.push_back(one.data());
    return message_of([&] { parse_arguments(app, static_cast<int>(argv.size()), argv.data()); });
  };
  EXPECT_EQ(parse({"--jobs", "3", "--seconds", ".5", "--math", "det", "--out", "a b"}), "(nothing was thrown)");
  EXPECT_EQ(jobs, 3);
  EXPECT_EQ(seconds, 0.5);
  EXPECT_EQ(word, "det");
  EXPECT_EQ(file, "a b");
  EXPECT_EQ(parse({"--jobs", "-1"}), "--jobs \"-1\": must be 1..3 (see --help)");
  EXPECT_EQ(parse({"--jobs=4"}), "--jobs \"4\": must be 1..3 (see --help)");
  EXPECT_EQ(parse({"--seconds", "nan"}), "--seconds \"nan\": must be 0..2 (see --help)");
  EXPECT_EQ(parse({"--math", "all"}), "--math \"all\": legal det, native (see --help)");
  EXPECT_EQ(parse({"--out", ""}), "--out: empty, legal: a value");
}

}  // namespace
}  // namespace flashproof
