// The command lines of a target's processes.
#pragma once

#include <filesystem>
#include <string>

#include "fuzz/archive/archive.h"
#include "fuzz/campaign/worker/target_process.h"
#include "fuzz/campaign/worker/turns.h"

namespace flashproof {

/// One input may take this long before the engine calls it a hang, in seconds.
inline constexpr int kInputSeconds = 30;

struct WorkerPlan {
  std::filesystem::path program, archive, corpus, artifact_prefix;
  std::filesystem::path suspects = {};  // of a GPU: session.h, --suspects
  int threads = 1;                      // of a GPU: that judge
  Subject subject;
  std::string run_id, guide;
  bool stop_on_finding = false;
  std::uint32_t seed = 1;
};

Command worker_command(const WorkerPlan& plan, const Job& job);

/// program --list, for this executor.
Command list_command(const std::filesystem::path& program, const std::string& executor);

/// program --describe FILE.
Command describe_command(const std::filesystem::path& program, const Subject& subject,
                         const std::filesystem::path& file);

/// program --seeds FILE FOLDER: case lines to inputs.
Command seeds_command(const std::filesystem::path& program, const Subject& subject, const std::filesystem::path& file,
                      const std::filesystem::path& folder);

/// Sets what every target inherits: a sanitizer's report ends with the engine's exit code for it and names functions where
/// LLVM's symbolizer is installed, and CUDA finds its addresses beside AddressSanitizer.
void set_worker_environment();

}  // namespace flashproof
