// Where and how a report was made, so that an output file documents itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace flashproof {

struct Environment {
  std::string compiler, cuda_compiler, flags, revision, cpu, gpu, date, command_line, tier;
  std::string executors;  // "cpu", "cuda", "cpu cuda" or "ptx"
  std::string math;       // det, native or all
  std::string profile;    // of the GPU, for native math; else empty
  std::uint64_t seed = 0;
};

/// Seconds, summed over workers (wall: as the clock on the wall).
struct RunTiming {
  int jobs = 1;
  double wall = 0, cases = 0, truth = 0, bound = 0, run = 0, judge = 0;
};

/// One call of `report`. Two of one seed on one machine differ in environment.date and timing alone.
struct Run {
  Environment environment;
  std::string partial;  // why it ended early, a sentence; empty: it did not
  std::uint64_t cases = 0, kernel_runs = 0;
  RunTiming timing;
};

/// "0.1.0": that of the CMake project.
std::string_view version();

/// The commit that this program is from: the environment variable FLASHPROOF_REVISION if it is set, for a program carried away from its
/// checkout, else that of the checkout; "unknown" outside one.
std::string this_revision();

/// The facts that do not depend on the command, this_revision() among them. Only `with_gpu` asks for the GPU, in a child process.
Environment this_environment(bool with_gpu);

/// The commit of the checkout around a folder, with -dirty behind it if files that git keeps were changed; empty outside a checkout.
/// Without git, or where git will not read the checkout, the commit alone.
std::string checkout_revision(const std::filesystem::path& inside);

/// "NVIDIA ..., driver ..." as nvidia-smi prints it, or "none"; also if that takes more than five seconds.
std::string gpu_description();

}  // namespace flashproof
