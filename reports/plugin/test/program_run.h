// flashproof-plugin as a shell starts it: a process with a group of its own, below one of the same session.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace flashproof {

struct ProgramRun {
  int status = 0;          // the wait status
  std::vector<int> stops;  // the signals that stopped it; each time it was continued, as by the command fg of a shell
  std::string out, err;

  int code() const;  // -1: a signal has ended it
};

/// Runs it with these words behind its name. `in_child` comes first, in its process. It is killed after a minute.
ProgramRun run_plugin_program(std::vector<std::string> words, const std::function<void()>& in_child = {});

}  // namespace flashproof
