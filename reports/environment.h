// Where and how a report was made, so that an output file documents itself.
#pragma once

#include <cstdint>
#include <string>

namespace flashproof {

struct Environment {
  std::string compiler, cuda_compiler, flags, revision, cpu, gpu, date, command_line, tier, executors;
  std::uint64_t seed = 0;
};

/// The facts that do not depend on the command. Only `with_gpu` asks for the GPU, in a child process. The revision is
/// the environment variable FLASHPROOF_REVISION if it is set, for a program carried away from its checkout.
Environment this_environment(bool with_gpu);

/// "NVIDIA ..., driver ..." as nvidia-smi prints it, or "none"; also if that takes more than five seconds.
std::string gpu_description();

}  // namespace flashproof
