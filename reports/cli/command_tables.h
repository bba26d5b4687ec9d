// The commands of the program as others read them: the table of README.md, the completion of a shell, the man page. All follow from
// the declarations of the options.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

/// A row per command, in the order of the help: its options, what it does, when it ends with another code than 0, 2 and 3.
std::string commands_markdown(const CLI::App& app);

/// Whether print_commands() has it: commands, completion or man.
bool is_command_table(const std::string& what);
/// `shell`: bash, zsh or fish, of completion; empty for bash. `json` is refused (UsageError). Returns the exit code.
int print_commands(const CLI::App& app, const std::string& what, const std::string& shell, bool json);

}  // namespace flashproof
