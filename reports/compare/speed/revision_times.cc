#include "reports/compare/speed/revision_times.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

#include "reference/system/error.h"
#include "reference/system/process.h"
#include "reference/system/run_command.h"

namespace flashproof::compare {
namespace {

namespace fs = std::filesystem;

/// A compiler takes 1.5 GB. Of all memory, not of what is free: a file cache gives way.
int compiler_jobs() {
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return std::clamp(static_cast<int>(std::min(memory / 1.5e9, 4096.0)), 1, default_jobs());
}

void build_benchmark(const fs::path& tree, const fs::path& folder, const std::string& target, const fs::path& log) {
  const CommandLine configure{
      .words = {"cmake", "-DFLASHPROOF_TESTS=ON", folder.string()}, .output = log, .errors = log};
  const CommandLine compile{
      .words = {"cmake", "--build", folder.string(), "--parallel", std::to_string(compiler_jobs()), "--target", target},
      .output = log,
      .errors = log};
  if (run_command(configure) != 0 || run_command(compile) != 0) {
    throw InfrastructureError(fmt::format("{} does not build in {}; see {}", target, tree.string(), log.string()));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> time_revisions(const std::array<fs::path, 2>& trees,
                                                                const ThisBuild& build,
                                                                const TimingArguments& arguments) {
  const bool gpu = build.preset() == "cuda";
  const std::string target = gpu ? "gpu_benchmark" : "kernels_benchmark";
  const fs::path program = gpu ? "kernels/gpu_benchmark/gpu_benchmark" : "benchmarks/kernels_benchmark";
  const fs::path times = build.root / "build/compare/times";
  fs::remove_all(times);
  fs::create_directories(times);
  for (const fs::path& tree : trees) {
    arguments.say(fmt::format("building {} in {}", target, tree.string()));
    build_benchmark(tree, tree / "build" / build.preset(), target, times / "build.log");
  }
  std::vector<std::pair<std::string, std::string>> results;
  for (int round = 1; round <= arguments.rounds; ++round) {
    arguments.say(fmt::format("round {} of {}", round, arguments.rounds));
    std::array<std::string, 2> files;
    for (std::size_t turn = 0; turn < 2; ++turn) {
      const std::size_t at = round % 2 == 0 ? 1 - turn : turn;
      files[at] = (times / fmt::format("{}-{}.json", at, round)).string();
      const fs::path log = times / "run.log";
      const CommandLine run{.words = {(trees[at] / "build" / build.preset() / program).string(),
                                      "--benchmark_filter=" + arguments.benchmark_filter, "--benchmark_out_format=json",
                                      "--benchmark_out=" + files[at]},
                            .output = "/dev/null",
                            .errors = log};
      if (run_command(run) == 0) continue;
      throw InfrastructureError(
          fmt::format("{} failed in {}; see {}", program.string(), trees[at].string(), log.string()));
    }
    results.emplace_back(files[0], files[1]);
  }
  return results;
}

}  // namespace flashproof::compare
