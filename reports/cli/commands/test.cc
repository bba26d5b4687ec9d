// test: every test of the build that the launcher has just made, then what the laws have executed.
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/process.h"
#include "reference/system/run_command.h"
#include "reports/cli/commands/commands.h"
#include "reports/run/this_build.h"

namespace flashproof {

int test_command(const TestArguments& a) {
  if (a.check) {  // for the launcher: what to build
    fmt::print("all\n");
    return kExitFine;
  }
  constexpr int kTestFailed = 8;  // of ctest
  const ThisBuild build = this_build("test");
  if (!std::filesystem::exists(build.folder / "CTestTestfile.cmake")) {
    throw InfrastructureError(
        fmt::format("{}: no tests were built; ./flashproof test builds them", build.folder.string()));
  }
  const std::string tier = a.nightly ? "nightly" : "quick", preset = build.preset() + (a.nightly ? "-nightly" : "");
  const std::filesystem::path counts = build.folder / "properties-counts" / tier;
  std::filesystem::remove_all(counts);
  fmt::print("seed: {} (random tests repeat with it; change: cmake --preset {} -DFLASHPROOF_SEED=N)\n",
             build.cached("FLASHPROOF_SEED"), build.preset());
  stop_on_signals();
  const int jobs = default_jobs() * 3 / 2;  // some tests wait: for a limit, a process, a browser
  const int code =
      run_command({.words = {"ctest", "--preset", preset, "--parallel", std::to_string(jobs)}, .folder = build.root});
  const std::string summary = build.root / "properties/driver/summary.py";
  const bool idle = run_command({.words = {"python3", "-B", summary, counts.string()}}) != 0;
  if (code != 0 && code != kTestFailed) throw InfrastructureError(fmt::format("ctest could not run (exit {})", code));
  return code == kTestFailed || idle ? kExitFinding : kExitFine;
}

}  // namespace flashproof
