// A target as a process: started in a process group of its own that ends with us, or asked a question.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

using Command = std::vector<std::string>;  // the program's path, then its arguments

/// Starts it with an empty stdin, stdout and stderr into `log` (emptied first). Throws InfrastructureError.
pid_t start_target(const Command& command, const std::filesystem::path& log);

/// What a short-lived process said.
struct Answer {
  int status = 0;          // wait status
  bool timed_out = false;  // it was killed after `seconds`
  std::string out, err;    // at most 16 MiB each
};
/// Runs it to its end. Throws InfrastructureError if it cannot be started.
Answer ask_target(const Command& command, double seconds);

/// fuzz_NAME beside this program or in its targets/ folder, or in `folder` where that is not empty. Throws UsageError that
/// names the targets there are.
std::filesystem::path find_target(const std::string& name, const std::filesystem::path& folder);

/// The last complaint of a program of ours ("flashproof: ..."), without that word, else the last line that is not empty;
/// printable, at most 300 characters.
std::string last_line(std::string_view text);

}  // namespace flashproof
