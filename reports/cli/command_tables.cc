#include "reports/cli/command_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reports/cli/help.h"

namespace flashproof {
namespace {

constexpr std::string_view kExits = "Exit codes: ";

bool is_help(const CLI::Option* option) { return option->get_name(false, true).find("--help") != std::string::npos; }

/// "cpu|cuda" of what is one of these, else the type without its range.
std::string type_of(const CLI::Option* option) {
  const std::string type = option->get_type_name();
  const std::size_t colon = type.find(':'), brace = type.find(":{");
  if (brace == std::string::npos) return type.substr(0, colon);
  std::string words = type.substr(brace + 2, type.find('}', brace) - brace - 2);
  std::ranges::replace(words, ',', '|');
  return words;
}

/// "[--kernel GLOB]", "CASE", "[FILE …]".
std::string synopsis(const CLI::Option* option) {
  std::string text = option->get_positional() ? option->get_single_name() : "--" + option->get_lnames().front();
  const std::string type = type_of(option);
  if (!option->get_positional() && option->get_expected_max() > 0 && !type.empty()) text += " " + type;
  if (option->get_positional() && option->get_expected_max() > 1) text += " …";
  return option->get_required() ? text : "[" + text + "]";
}

/// In a cell of a Markdown table.
std::string in_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string row(const CLI::App& command) {
  std::string usage = command.get_name();
  for (const CLI::Option* option : command.get_options()) {
    if (!is_help(option)) usage += " " + synopsis(option);
  }
  std::string text = command.get_description();
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.replace(end, 1, ". ");
  const std::string footer = command.get_footer();
  const std::string exits = footer.starts_with(kExits) ? footer.substr(kExits.size()) : "";
  return fmt::format("| `{}` | {} | {} |\n", in_cell(usage), in_cell(text), in_cell(exits));
}

}  // namespace

std::string commands_markdown(const CLI::App& app) {
  std::string text = "| command | does | exits |\n|---|---|---|\n";
  for (const CLI::App* command : commands_in_order(app)) text += row(*command);
  return text;
}

std::string bash_completion(const CLI::App& app) {
  std::string cases;
  std::vector<std::string> names;
  for (const CLI::App* command : commands_in_order(app)) {
    names.push_back(command->get_name());
    std::vector<std::string> options;
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_positional()) options.push_back("--" + option->get_lnames().front());
    }
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(), fmt::join(options, " "));
  }
  return fmt::format(R"(_flashproof() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command='' words='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} != -* ]]; then command=${{COMP_WORDS[i]}}; break; fi
  done
  case $command in
    '') words='{} --no-install --no-build --portable --help' ;;
{}  esac
  if [[ $word == -* || -z $command ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"); fi
}}
complete -o default -F _flashproof flashproof ./flashproof
)",
                     fmt::join(names, " "), cases);
}

int print_commands(const CLI::App& app, const std::string& what, bool json) {
  if (json) throw UsageError("list " + what + ": has no --json; legal for kernels, families, laws and faults");
  const std::string text = what == "completion" ? bash_completion(app) : commands_markdown(app);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitFine;
}

}  // namespace flashproof
