// The commands of the program as others read them: the table of README.md, and the completion of a shell. Both follow from the
// declarations of the options.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

/// A row per command, in the order of the help: its options, what it does, when it ends with another code than 0, 2 and 3.
std::string commands_markdown(const CLI::App& app);
/// A script for bash.
std::string bash_completion(const CLI::App& app);
/// `what`: commands or completion; `json` is refused. Returns the exit code.
int print_commands(const CLI::App& app, const std::string& what, bool json);

}  // namespace flashproof
