#include "reports/cli/command_tables.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reports/cli/command_rows.h"
#include "reports/cli/completion.h"
#include "reports/cli/man_page.h"

namespace flashproof {
namespace {

/// In a cell of a Markdown table.
std::string in_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string row(const CommandRow& command) {
  std::string usage = command.name;
  for (const OptionRow& option : command.options) {
    if (option.name != "--help") usage += " " + synopsis(option);
  }
  const std::string text = command.more.empty() ? command.summary : command.summary + ". " + command.more;
  return fmt::format("| `{}` | {} | {} |\n", in_cell(usage), in_cell(text), in_cell(command.exits));
}

std::string completion(const CLI::App& app, const std::string& shell) {
  if (shell == "zsh") return zsh_completion(app);
  return shell == "fish" ? fish_completion(app) : bash_completion(app);
}

}  // namespace

std::string commands_markdown(const CLI::App& app) {
  std::string text = "| command | does | exits |\n|---|---|---|\n";
  for (const CommandRow& command : command_rows(app)) text += row(command);
  return text;
}

bool is_command_table(const std::string& what) { return what == "commands" || what == "completion" || what == "man"; }

int print_commands(const CLI::App& app, const std::string& what, const std::string& shell, bool json) {
  if (json) throw UsageError("list " + what + ": has no --json; legal for kernels, families, laws and faults");
  const std::string text = what == "completion" ? completion(app, shell)
                           : what == "man"      ? man_page(app)
                                                : commands_markdown(app);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitFine;
}

}  // namespace flashproof
