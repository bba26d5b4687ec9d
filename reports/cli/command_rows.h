// The commands and their options as plain rows, read from the declarations in options/: what the table of README.md, the completions
// and the man page are written from.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

struct OptionRow {
  std::string name;                 // "--kernel", or "CASE" of a positional
  std::string short_name;           // "-h"; empty: none
  std::string type;                 // "GLOB", "cpu|cuda"; empty: a flag, or a positional
  std::vector<std::string> values;  // the legal ones, where they are few
  std::string help;
  bool positional = false, required = false, repeats = false;  // repeats: it may be given several times
};

struct CommandRow {
  std::string name, summary, more;  // more: Markdown; may be empty
  std::string exits;                // when it ends with another code than 0, 2 and 3; may be empty
  std::vector<OptionRow> options;   // --help among them
};

/// In the order of the help. Throws InfrastructureError as commands_in_order().
std::vector<CommandRow> command_rows(const CLI::App& app);
/// Those before the command.
std::vector<OptionRow> launcher_options(const CLI::App& app);

/// "[--kernel GLOB]", "CASE", "[FILE …]".
std::string synopsis(const OptionRow& option);

}  // namespace flashproof
