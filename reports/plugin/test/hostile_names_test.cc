// Names and messages that would drive a terminal, through everything that a check of a library writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/system/read_file.h"
#include "reference/system/shown_text.h"
#include "reports/plugin/test/program_run.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class HostileNames : public testing::Test {
 protected:
  HostileNames() {
    std::string made = testing::TempDir() + "flashproof-names-XXXXXX";
    root = ::mkdtemp(made.data());
    folder = root / "a\x1b[2J\r\nok  \xc2\x9b\xe2\x80\xae\xff&<\"'`|$";
    fs::create_directories(folder);
    fs::copy_file(fs::path(FLASHPROOF_TEST_PLUGINS) / "hostile.so", folder / "hostile.so");
  }
  ~HostileNames() override { fs::remove_all(root); }

  static std::string as_shown(const std::string& text) {
    EXPECT_EQ(text, shown_lines(text));
    return text;
  }
  /// Of a file all of whose lines can be shown.
  static std::string shown(const fs::path& file) {
    SCOPED_TRACE(file);
    return as_shown(read_file(file, 1 << 24));
  }

  fs::path root, folder;
};

TEST_F(HostileNames, reach_terminal_junit_and_json_as_text) {
  const std::string library = folder / "hostile.so", junit = folder / "j.xml", json = folder / "r.json";
  std::vector<std::string> words{"check",    library,  "--verbose", "--law", "within_bound",
                                 "--family", "normal", "--cases",   "1"};
  for (const char* kernel : {"complain", "print_verdict"}) {
    words.insert(words.end(), {"--kernel", std::string("softmax.") + kernel + ".hostile"});
  }
  words.insert(words.end(), {"--out", folder / "out", "--junit", junit, "--json", json});
  const ProgramRun run = run_plugin_program(words);
  EXPECT_EQ(run.code(), 1);
  const std::string said = as_shown(run.out);
  EXPECT_THAT(said, HasSubstr("plugin hostile 1.0?[2J??ok  ??"));
  EXPECT_THAT(said, HasSubstr("the kernel returned an error: \\x1b[2J\\x0d\\x0aok  "));
  EXPECT_THAT(said, HasSubstr(" --plugin $'/"));  // a shell takes it back
  EXPECT_THAT(said, HasSubstr("/a\\x1b[2J\\x0d\\x0aok  \\xc2\\x9b\\xe2\\x80\\xae\\xff&<\"\\'`|$/hostile.so'"));
  EXPECT_THAT(as_shown(run.err), HasSubstr("plugin: ?[2J?]0;title"));
  const std::string xml = shown(junit);
  EXPECT_THAT(xml, HasSubstr("&amp;&lt;&quot;'`|$"));
  EXPECT_THAT(xml, testing::Not(HasSubstr("&<")));
  const auto document = nlohmann::json::parse(shown(json));
  EXPECT_EQ(document["results"].size(), 4U);
  EXPECT_FALSE(fs::is_empty(folder / "out"));
}

TEST_F(HostileNames, of_a_library_that_is_listed_are_text) {
  const ProgramRun run = run_plugin_program({"list", folder / "hostile.so"});
  EXPECT_EQ(run.code(), 0);
  EXPECT_THAT(as_shown(run.out), HasSubstr("plugin hostile 1.0?[2J??ok"));
}

}  // namespace
}  // namespace flashproof
