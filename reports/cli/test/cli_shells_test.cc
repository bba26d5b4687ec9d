// What a shell, man and the first line of an issue are told: --version, list completion, list man.
#include <map>
#include <regex>
#include <set>
#include <vector>

#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

const fs::path kSource = FLASHPROOF_SOURCE;

std::set<std::string> options_in(const std::string& text) {
  static const std::regex kOption("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), kOption), std::sregex_token_iterator()};
}

class Shells : public Cli {
 protected:
  /// Of the table of commands: the options of each.
  std::map<std::string, std::set<std::string>> commands() {
    EXPECT_EQ(run("list commands"), kExitFine);
    std::map<std::string, std::set<std::string>> result;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("| `")) continue;
      const std::string usage = line.substr(3, line.find('`', 3) - 3);
      std::set<std::string>& options = result[usage.substr(0, usage.find(' '))] = options_in(usage);
      options.insert("--help");
    }
    EXPECT_GT(result.size(), 20U);
    EXPECT_TRUE(result["report"].contains("--with-faults"));
    return result;
  }
  std::string listed(const std::string& what) {
    EXPECT_EQ(run("list " + what), kExitFine) << err;
    return out;
  }
  bool have(const std::string& program) { return run_shell("command -v " + program + " >found") == 0; }

  static constexpr int kExitFine = 0, kExitUsage = 2;
};

TEST_F(Shells, the_version_is_the_projects_and_names_the_commit) {
  std::smatch number;
  const std::string cmake = read_file(kSource / "CMakeLists.txt");
  ASSERT_TRUE(std::regex_search(cmake, number, std::regex("project\\(flashproof VERSION ([0-9.]+)")));
  ASSERT_EQ(run_shell("FLASHPROOF_REVISION=abc '" FLASHPROOF_CLI "' --version >stdout 2>stderr"), kExitFine);
  EXPECT_EQ(out, "flashproof " + number[1].str() + " (abc)\n");
  EXPECT_THAT(read_file(kSource / "pyproject.toml"), HasSubstr("\nversion = \"" + number[1].str() + "\"\n"));
  if (run_shell("git -C '" FLASHPROOF_SOURCE "' rev-parse HEAD >stdout 2>stderr") != 0)
    GTEST_SKIP() << "no git checkout";
  const std::string commit = out.substr(0, 40);
  ASSERT_EQ(run_shell("bash '" FLASHPROOF_SOURCE "/flashproof' --version >stdout 2>stderr"), kExitFine) << err;
  EXPECT_THAT(out, StartsWith("flashproof " + number[1].str() + " (" + commit));
  const std::string launcher = out;
  ASSERT_EQ(run("--version"), kExitFine);
  if (out.find("unknown") == std::string::npos) {  // unknown: built outside the checkout
    EXPECT_EQ(out, launcher);
  }
}

TEST_F(Shells, bash_completes_commands_and_options) {
  const auto completed = [&](const std::string& words, int at) {
    listed("completion");
    return run_shell("bash -c 'source ./stdout; COMP_WORDS=(flashproof " + words +
                     "); COMP_CWORD=" + std::to_string(at) + "; _flashproof; echo \"${COMPREPLY[*]}\"' >completed");
  };
  ASSERT_EQ(completed("rep", 1), 0);
  EXPECT_EQ(read_file(folder / "completed"), "report replay\n");
  ASSERT_EQ(completed("--no-build report --with", 3), 0);
  EXPECT_EQ(read_file(folder / "completed"), "--with-faults --with-bench\n");
  ASSERT_EQ(completed("--", 1), 0);
  EXPECT_EQ(read_file(folder / "completed"), "--no-install --no-build --portable --version --help\n");
}

TEST_F(Shells, every_shell_gets_every_command_and_option) {
  const std::string bash = listed("completion --shell bash"), zsh = listed("completion --shell zsh"),
                    fish = listed("completion --shell fish");
  EXPECT_EQ(listed("completion"), bash);
  for (const auto& [command, options] : commands()) {
    const auto block = [&](const std::string& script, const std::string& end) {
      const std::size_t at = script.find("\n    " + command + ")");
      EXPECT_NE(at, std::string::npos) << command;
      return script.substr(at, script.find(end, at) - at);
    };
    EXPECT_EQ(options_in(block(bash, ";;")), options) << command;
    const std::string of_zsh = block(zsh, " ;;");
    for (const std::string& option : options) {
      const std::regex spec("'[*]?(\\(-h --help\\))?" + option + "(=\\[|\\[)");
      EXPECT_TRUE(std::regex_search(of_zsh, spec)) << command << " " << option << of_zsh;
      EXPECT_THAT(fish, testing::ContainsRegex("_is " + command + "'[^\n]* -l " + option.substr(2) + " ")) << command;
    }
    EXPECT_THAT(fish, HasSubstr(" -f -a " + command + " -d '"));
    EXPECT_THAT(zsh, HasSubstr("\n    '" + command + ":"));
  }
  EXPECT_THAT(fish, HasSubstr("_is report' -l exec -x -a 'cpu cuda all ptx' -d "));
  EXPECT_THAT(zsh, HasSubstr("'--exec=[cpu, cuda or all]:cpu|cuda|all:(cpu cuda all)'"));
}

TEST_F(Shells, zsh_takes_its_script) {
  if (!have("zsh")) GTEST_SKIP() << "no zsh";
  listed("completion --shell zsh >script");
  EXPECT_EQ(run_shell("zsh -n script 2>stderr"), 0) << err;
  EXPECT_EQ(
      run_shell(
          "HOME=. zsh -fc 'autoload -U compinit; compinit -u -D; source ./script; print $_comps[flashproof]' >stdout"),
      0);
  EXPECT_EQ(out, "_flashproof\n");
}

TEST_F(Shells, fish_completes_by_its_script) {
  if (!have("fish")) GTEST_SKIP() << "no fish";
  listed("completion --shell fish >script");
  const auto completed = [&](const std::string& line) {
    EXPECT_EQ(run_shell("HOME=. fish --no-config -c 'source script; complete -C \"" + line +
                        "\"' 2>stderr | cut -f 1 >stdout"),
              0);
    return out;
  };
  EXPECT_EQ(completed("flashproof rep"), "replay\nreport\n") << err;
  EXPECT_EQ(completed("flashproof --no-build report --with"), "--with-bench\n--with-faults\n") << err;
  EXPECT_EQ(completed("flashproof report --exec "), "all\ncpu\ncuda\n") << err;
}

TEST_F(Shells, a_shell_that_is_none_and_one_too_many_are_refused) {
  for (const char* wrong :
       {"completion --shell tcsh", "commands --shell zsh", "kernels --shell zsh", "man --json", "mna"}) {
    EXPECT_EQ(run(std::string("list ") + wrong), kExitUsage) << wrong;
    expect_one_line_complaint();
  }
  EXPECT_THAT(err, HasSubstr("man"));
}

TEST_F(Shells, the_man_page_has_every_command_and_option) {
  const std::string page = listed("man");
  EXPECT_THAT(page, StartsWith(".TH FLASHPROOF 1 "));
  EXPECT_TRUE(std::ranges::all_of(page, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_THAT(page, Not(HasSubstr("](")));
  std::istringstream lines(page);
  static const std::regex kRequest("\\.(TH|SH|SS|TP|P)( .*)?");
  for (std::string line; std::getline(lines, line);) {
    const bool request = line.starts_with('.') || line.starts_with('\'');
    EXPECT_TRUE(!request || std::regex_match(line, kRequest)) << line;
  }
  for (const auto& [command, options] : commands()) {
    const std::size_t at = page.find("\n.SS " + command + "\n");
    ASSERT_NE(at, std::string::npos) << command;
    const std::string section = page.substr(at, page.find("\n.S", at + 1) - at);
    for (const std::string& option : options) {
      const std::string name = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_THAT(section, HasSubstr("\\fB" + name + "\\fP")) << command;
    }
  }
}

TEST_F(Shells, man_and_groff_take_the_page_without_a_warning) {
  listed("man >flashproof.1");
  int asked = 0;
  for (const std::string formatter : {"groff -man -Tutf8 -ww", "man --warnings=w -l"}) {
    if (!have(formatter.substr(0, formatter.find(' ')))) continue;
    ++asked;
    EXPECT_EQ(run_shell(formatter + " flashproof.1 >stdout 2>stderr </dev/null"), 0) << err;
    EXPECT_EQ(err, "") << formatter;
    EXPECT_THAT(out, HasSubstr("NAME")) << formatter;
  }
  if (asked == 0) GTEST_SKIP() << "neither groff nor man";
}

TEST_F(Shells, the_man_page_is_installed) {
  const std::string script = (fs::path(FLASHPROOF_CLI).parent_path() / "cmake_install.cmake").string();
  ASSERT_EQ(run_shell("cmake -DCMAKE_INSTALL_PREFIX=\"$PWD/there\" -P '" + script + "' >stdout 2>stderr"), 0) << err;
  const std::string page = read_file(folder / "there/share/man/man1/flashproof.1");
  EXPECT_EQ(page, listed("man"));
}

}  // namespace
}  // namespace flashproof
