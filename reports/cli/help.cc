#include "reports/cli/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "reference/system/add_option.h"
#include "reference/system/error.h"
#include "reports/run/environment.h"

namespace flashproof {
namespace {

struct Group {
  std::string_view name;
  std::vector<std::string_view> commands;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups = {
      {"Begin with", {"check", "report", "compare", "fuzz", "test"}},
      {"One case", {"replay", "explain", "export", "truth", "run"}},
      {"Searches and laws", {"suggest", "properties", "attack", "ledger", "campaign"}},
      {"Reports", {"render", "merge"}},
      {"A GPU, speed", {"twin", "probe", "certify", "traffic", "bench"}},
      {"What there is", {"list", "experiment", "doctor", "setup"}},
  };
  return kGroups;
}

/// The first line of the text.
std::string line(std::string_view name, std::string_view text) {
  return fmt::format("  {:<14}{}\n", name, text.substr(0, text.find('\n')));
}

/// Descriptions stand in the README, too: [how](FILE) is "how: FILE" on a terminal, [words](FILE) "words (FILE)".
std::string without_links(const std::string& text) {
  static const std::regex kHow(R"(\[how\]\(([^)]*)\))"), kLink(R"(\[([^\]]*)\]\(([^)]*)\))");
  return std::regex_replace(std::regex_replace(text, kHow, "how: $1"), kLink, "$1 ($2)");
}

class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (app->get_parent() == nullptr) return help_text(*app);
    return without_links(Formatter::make_help(app, name, mode) + of_a_library(app->get_name()));
  }

 private:
  /// What the command takes where it is about a library, whose options are other ones; empty where it never is.
  std::string of_a_library(const std::string& command) const {
    CLI::App library;
    library.set_help_flag();
    add_foreign_options(&library, command + "-library");
    if (library.get_options().empty()) return "";
    return fmt::format("\n{} {}, a library of yours:\n{}{}", command,
                       command == "replay" ? "CASE --plugin ./MY.so" : "./MY.so", make_positionals(&library),
                       make_groups(&library, CLI::AppFormatMode::Normal));
  }
};

}  // namespace

std::vector<const CLI::App*> commands_in_order(const CLI::App& app) {
  std::vector<const CLI::App*> list, left = app.get_subcommands([](const CLI::App*) { return true; });
  for (const Group& group : groups()) {
    for (const std::string_view name : group.commands) {
      list.push_back(app.get_subcommand(std::string(name)));
      std::erase(left, list.back());
    }
  }
  if (!left.empty()) throw InfrastructureError("help: " + left.front()->get_name() + " is in no group");
  return list;
}

std::string help_text(const CLI::App& app) {
  std::string text = "usage: ./flashproof [--no-install] [--no-build] [--portable] COMMAND [OPTION ...]\n";
  const std::vector<const CLI::App*> commands = commands_in_order(app);
  auto command = commands.begin();
  for (const Group& group : groups()) {
    text += fmt::format("\n{}:\n", group.name);
    for (const std::string_view name : group.commands) text += line(name, (*command++)->get_description());
  }
  text += "\n";
  for (const CLI::Option* option : app.get_options()) {
    text += line(option->get_name(false, true), option->get_description());
  }
  return text + "\n" + app.get_footer();
}

void set_help(CLI::App& app) {
  app.set_version_flag(
      "--version", [] { return fmt::format("flashproof {} ({})", version(), this_revision()); },
      "the version, and the commit of the checkout");
  app.set_help_flag("-h,--help", "this text; COMMAND --help: of a command, once built");
  app.footer(
      "Missing packages are announced, then installed through apt, as root or where sudo needs no password.\n"
      "CUDA is built for the GPUs found here, else for sm_90a; FLASHPROOF_CUDA_ARCHITECTURES=80 or '80;90a'\n"
      "names others. stdout is data, stderr is progress. Exit codes: 0 fine, 1 finding, 2 usage,\n"
      "3 infrastructure (packages, build, driver), 4 skipped (no GPU) or undecided.\n");
  const auto help = std::make_shared<Help>();
  app.formatter(help);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) command->formatter(help);
}

}  // namespace flashproof
