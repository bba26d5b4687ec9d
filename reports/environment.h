// Where and how a report was made, so that an output file documents itself.
#pragma once

#include <cstdint>
#include <string>

namespace flashproof {

struct Environment {
  std::string compiler, cuda_compiler, flags, revision, cpu, gpu, date, command_line, tier, executors;
  std::uint64_t seed = 0;
};

/// The facts that do not depend on the command. Reads files only; touches no GPU.
Environment this_environment();

/// "NVIDIA ..., driver ..." as nvidia-smi prints it, or "none".
std::string gpu_description();

}  // namespace flashproof
