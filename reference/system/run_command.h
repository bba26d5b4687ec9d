// Other programs as children: run to their end, with their exit code or their output.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flashproof {

struct CommandLine {
  std::vector<std::string> words;     // the program, looked for in PATH, and its arguments
  std::filesystem::path folder = {};  // that it runs in; empty: ours
  std::map<std::string, std::optional<std::string>> environment = {};  // variables that are set, or taken away
  std::filesystem::path output = {}, errors = {};  // files; empty: ours. The same one twice takes both
};

/// Its exit code, 128 + N where signal N ended it, 127 where there is no such program. Its stdin is empty. With stop_requested() it
/// gets SIGTERM, and once it has ended InfrastructureError "interrupted" is thrown; also thrown where it cannot be started.
int run_command(const CommandLine& command);

/// For short questions, also after stop_requested(): its stdout without the newlines at the end, if it exits with 0. Its errors go
/// nowhere; `output` and `errors` of the command are not read.
std::optional<std::string> output_of(const CommandLine& command);

}  // namespace flashproof
