// Text from outside that would drive a terminal, through the program and the files that it writes.
#include "reports/cli/test/cli_fixture.h"

#include <initializer_list>
#include <utility>

#include "reference/system/exit_codes.h"
#include "reference/system/shown_text.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

TEST_F(Cli, a_name_that_is_too_long_is_a_wrong_argument) {
  ASSERT_EQ(run_shell("ln -s loop loop"), 0);
  for (const std::string& name : {std::string(20'000, 'a'), std::string("loop/x.safetensors")}) {
    for (const char* command : {"replay ", "truth --out t.safetensors ", "export --out here ", "render "}) {
      EXPECT_EQ(run(command + name), kExitUsage) << command;
      EXPECT_EQ(std::ranges::count(err, '\n'), 1) << command;
      EXPECT_LT(err.size(), 5000U) << command;
    }
  }
}

/// A revision and a folder that are not ours, through every file of a report.
TEST_F(Cli, hostile_text_is_text_in_every_format) {
  const std::string text = "a\x1b[2J\n\xc2\x9b\xe2\x80\xae\xff&<b>|`*\"";
  ASSERT_EQ(::setenv("FLASHPROOF_REVISION", text.c_str(), 1), 0);
  ASSERT_EQ(::setenv("HOSTILE_FOLDER", (folder / text).c_str(), 1), 0);
  const int code =
      run("report --quick --kernel softmax.naive.published --family overflow_edge --format f32 --out "
          "\"$HOSTILE_FOLDER\"");
  ASSERT_EQ(::unsetenv("FLASHPROOF_REVISION"), 0);
  ASSERT_EQ(::unsetenv("HOSTILE_FOLDER"), 0);
  ASSERT_EQ(code, kExitFine) << err;
  EXPECT_EQ(out, shown_lines(out));
  EXPECT_EQ(err, shown_lines(err));
  for (const auto& [file, marked] : std::initializer_list<std::pair<const char*, const char*>>{
           {"report.json", "a?[2J???????&<b>|`*\\\""},
           {"report.md", "a?[2J???????&<b>\\|'*\""},
           {"report.html", "a?[2J???????&amp;&lt;b&gt;|`*&quot;"},
           {"junit.xml", "a?[2J???????&amp;&lt;b&gt;|`*&quot;"}}) {
    const std::string written = read_file(folder / text / file);
    EXPECT_EQ(written, shown_lines(written)) << file;
    EXPECT_THAT(written, HasSubstr(marked)) << file;
  }
}

}  // namespace
}  // namespace flashproof
