// Every door refuses a wrong value in the words of the option table: a range that changes there changes what all of them say.
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "reference/system/error.h"
#include "reference/system/option_table.h"
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

/// A command of the table, and a command line of it that lacks nothing but the option.
struct Door {
  std::string command, line;
};

std::vector<Door> doors() {
  std::vector<Door> all = {{"report", "report"},
                           {"check", "check x"},
                           {"compare", "compare"},
                           {"twin", "twin"},
                           {"replay", "replay x"},
                           {"explain", "explain x --case x"},
                           {"export", "export x --out x"},
                           {"attack", "attack"},
                           {"certify", "certify"},
                           {"traffic", "traffic"},
                           {"experiment", "experiment"},
                           {"bench", "bench"},
                           {"check-library", "check ./x.so"},
                           {"replay-library", "replay x --plugin ./x.so"},
                           {"suggest", "suggest ./x.so"}};
  for (Door& door : all) door.line = "'" FLASHPROOF_CLI "' " + door.line;
  all.push_back({"properties", "'" FLASHPROOF_PROPERTIES "'"});
  all.push_back({"fuzz", "'" FLASHPROOF_FUZZ "' fuzz softmax"});
  return all;
}

std::string complaint(const OptionDeclaration& option, const std::string& value) {
  try {
    switch (option.legal.kind) {
      case LegalValue::Kind::whole:
        option.legal.whole(option.name, value);
        break;
      case LegalValue::Kind::real:
        option.legal.real(option.name, value);
        break;
      case LegalValue::Kind::words:
        option.legal.require_word(option.name, value);
        break;
      case LegalValue::Kind::text:
        break;
    }
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

using Options = Cli;

TEST_F(Options, every_door_refuses_in_the_words_of_the_table) {
  for (const Door& door : doors()) {
    for (const OptionDeclaration* option : options_of(door.command)) {
      for (const std::string value : {"-1", "no"}) {
        const std::string expected = complaint(*option, value);
        if (expected.empty()) continue;
        EXPECT_EQ(run_shell(door.line + " " + std::string(option->name) + " " + value + " >stdout 2>stderr"), 2);
        EXPECT_EQ(err, "flashproof: " + expected + " (see --help)\n") << door.line;
        EXPECT_EQ(out, "");
      }
    }
  }
}

TEST_F(Options, every_command_of_the_table_is_a_door) {
  std::set<std::string> asked = {"list-library", "python", "python-suggest"};  // no range; python/tests/options_test.py
  for (const Door& door : doors()) asked.insert(door.command);
  for (const OptionDeclaration& option : option_table()) {
    std::istringstream commands{std::string(option.commands)};
    for (std::string command; commands >> command;) EXPECT_TRUE(asked.contains(command)) << command;
  }
}

/// The options that a --help tells of.
std::set<std::string> told(const std::string& help) {
  std::set<std::string> options;
  std::istringstream words(help);
  for (std::string word; words >> word;) {
    if (word.starts_with("--")) options.insert(word.substr(0, word.find('{')));  // --no-climb{false}
  }
  return options;
}

TEST_F(Options, a_program_of_its_own_takes_what_the_table_tells_of_it_and_nothing_else) {
  for (const Door& door : doors()) {
    if (door.command != "properties" && door.command != "fuzz" && !door.command.ends_with("-library")) continue;
    EXPECT_EQ(run_shell(door.line + " --help >stdout 2>stderr"), 0) << err;
    std::set<std::string> declared;
    for (const OptionDeclaration* option : options_of(door.command)) {
      EXPECT_THAT(out, HasSubstr(std::string(option->help))) << option->name;
      if (!option->is_positional()) declared.emplace(option->name);
    }
    EXPECT_EQ(told(out), declared) << door.command;
  }
}

}  // namespace
}  // namespace flashproof
