// What the process that has a library does: loads it, calls it when asked, and says what came back. Used by plugin_process.cc.
#pragma once

#include <cstddef>

#include "kernels/plugin/plugin_process.h"

namespace flashproof {

inline constexpr int kNoSocket = 113;  // exit code: it cannot reach the judge any more

/// What such a process is given of the judge's, right after fork().
struct Inherited {
  int socket;
  int printed;       // what the library prints goes there
  int file;          // the memory of its calls; closed once it is mapped
  std::byte* block;  // where the judging process has that memory
};

[[noreturn]] void serve_plugin(const Inherited& ours, const PluginProcess::Load& load);

}  // namespace flashproof
