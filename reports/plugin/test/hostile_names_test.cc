// Names and messages that would drive a terminal, through everything that a check of a library writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/problem/child_process.h"
#include "reference/problem/read_file.h"
#include "reference/problem/shown_text.h"
#include "reports/plugin/main.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class HostileNames : public testing::Test {
 protected:
  HostileNames() {
    std::string made = testing::TempDir() + "flashproof-names-XXXXXX";
    root_ = ::mkdtemp(made.data());
    folder_ = root_ / "a\x1b[2J\r\nok  \xc2\x9b\xe2\x80\xae\xff&<\"'`|$";
    fs::create_directories(folder_);
    fs::copy_file(fs::path(FLASHPROOF_TEST_PLUGINS) / "hostile.so", folder_ / "hostile.so");
  }
  ~HostileNames() override { fs::remove_all(root_); }

  /// The exit code; what was said is in stdout and stderr of the root.
  int run(std::vector<std::string> words) const {
    words.insert(words.begin(), "flashproof-plugin");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    const pid_t child = fork_child([&] {
      if (std::freopen((root_ / "stdout").c_str(), "w", stdout) == nullptr ||
          std::freopen((root_ / "stderr").c_str(), "w", stderr) == nullptr) {
        ::_exit(99);
      }
      const int code = plugin_main(static_cast<int>(argv.size()), argv.data());
      std::fflush(nullptr);
      ::_exit(code);
    });
    const int status = reap(child, 60'000);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Of a file all of whose lines can be shown.
  static std::string shown(const fs::path& file) {
    std::string text = read_file(file, 1 << 24);
    EXPECT_EQ(text, shown_lines(text)) << file;
    return text;
  }

  fs::path root_, folder_;
};

TEST_F(HostileNames, reach_terminal_junit_and_json_as_text) {
  const std::string library = folder_ / "hostile.so", junit = folder_ / "j.xml", json = folder_ / "r.json";
  std::vector<std::string> words{"check",    library,  "--verbose", "--law", "within_bound",
                                 "--family", "normal", "--cases",   "1"};
  for (const char* kernel : {"complain", "print_verdict"}) {
    words.insert(words.end(), {"--kernel", std::string("softmax.") + kernel + ".hostile"});
  }
  words.insert(words.end(), {"--out", folder_ / "out", "--junit", junit, "--json", json});
  EXPECT_EQ(run(words), 1);
  const std::string said = shown(root_ / "stdout");
  EXPECT_THAT(said, HasSubstr("plugin hostile 1.0?[2J??ok  ??"));
  EXPECT_THAT(said, HasSubstr("the kernel returned an error: \\x1b[2J\\x0d\\x0aok  "));
  EXPECT_THAT(said, HasSubstr(" --plugin $'/"));  // a shell takes it back
  EXPECT_THAT(said, HasSubstr("/a\\x1b[2J\\x0d\\x0aok  \\xc2\\x9b\\xe2\\x80\\xae\\xff&<\"\\'`|$/hostile.so'"));
  EXPECT_THAT(shown(root_ / "stderr"), HasSubstr("plugin: ?[2J?]0;title"));
  const std::string xml = shown(junit);
  EXPECT_THAT(xml, HasSubstr("&amp;&lt;&quot;'`|$"));
  EXPECT_THAT(xml, testing::Not(HasSubstr("&<")));
  const auto document = nlohmann::json::parse(shown(json));
  EXPECT_EQ(document["results"].size(), 4U);
  EXPECT_FALSE(fs::is_empty(folder_ / "out"));
}

TEST_F(HostileNames, of_a_library_that_is_listed_are_text) {
  EXPECT_EQ(run({"list", folder_ / "hostile.so"}), 0);
  EXPECT_THAT(shown(root_ / "stdout"), HasSubstr("plugin hostile 1.0?[2J??ok"));
}

}  // namespace
}  // namespace flashproof
