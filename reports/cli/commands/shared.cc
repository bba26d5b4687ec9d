#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "kernels/ptx/own/own_kernels.h"
#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/memory.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/run/native.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/gpu_server.h"
#include "reports/workers/workers.h"

namespace flashproof {

void say(const std::string& text) { std::fprintf(stderr, "flashproof: %s\n", one_line(text).c_str()); }

std::vector<std::string> LauncherArguments::words() const {
  std::vector<std::string> given;
  if (portable) given.emplace_back("--portable");
  if (no_install) given.emplace_back("--no-install");
  if (no_build) given.emplace_back("--no-build");
  return given;
}

int closing_code(bool partial, const std::string& failure, bool finding, bool undecided) {
  if (!failure.empty()) {
    say(failure + "; the result is partial");
    return kExitInfrastructure;
  }
  if (partial) say("interrupted: the result is partial");
  if (finding) return kExitFinding;
  if (partial) return kExitInfrastructure;
  return undecided ? kExitSkipped : kExitFine;
}

std::string foreign_kernel(const Notes& notes) {
  const auto found = notes.find("kernel");
  if (found == notes.end() || found->second.empty()) return {};
  const std::string& id = found->second;
  const bool glob = id.find_first_of("*?[") != std::string::npos;
  return glob || find_kernel(id) != nullptr ? std::string() : id;
}

ElementIndex place_of(const std::string& executor, const std::string& math, const std::string& profile,
                      const Notes& notes) {
  const auto choose = [&](const std::string& option, const char* note, const char* otherwise) {
    if (!option.empty()) return option;
    const auto found = notes.find(note);
    return found != notes.end() ? found->second : std::string(otherwise);
  };
  ElementIndex place;
  place.executor = choose(executor, "executor", "cpu");
  place.math = choose(math, "math", "det");
  check_math(place.math, profile);
  return place;
}

void require_truth_memory(const Problem& problem) {
  const std::int64_t limit = OracleOptions{}.memory_limit;
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem)) {
    require_backward_memory(*gradient, limit);
  } else {
    require_memory(memory_of(problem, 1), limit);
  }
}

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::clamp<int>(size.ws_col, 80, 200);
  }
  return 150;
}

int jobs_for(int option) { return option > 0 ? option : default_jobs(); }

std::vector<Executor> executors_for(const std::string& option) {
  if (option == "cpu") return {Executor::cpu};
  std::string why;
  if (option == "ptx") {
    ptx::execute_own_kernels();
    why = ptx::without_own_kernels();
    if (why.empty()) return {Executor::ptx};
    say("skipped: --exec ptx: " + why);
    return {};
  }
  if (option != "cuda" && option != "all") throw UsageError("--exec " + quote(option) + ": cpu, cuda, all or ptx");
  const bool gpu = cuda_devices_elsewhere(&why) > 0;
  if (option == "all") {
    if (gpu) return {Executor::cpu, Executor::cuda};
    say("--exec all: no GPU (" + why + "), running the CPU executor only");
    return {Executor::cpu};
  }
  if (gpu) return {Executor::cuda};
  say("skipped: no GPU (" + why + ")");
  return {};
}

void compile_ptx(const Plan& plan, int jobs) {
  if (std::ranges::find(plan.executors, Executor::ptx) == plan.executors.end()) return;
  std::set<std::pair<ProblemKind, Format>> seen;
  std::set<const Kernel*> runs;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    if (!seen.emplace(plan.cases[i].spec.problem, plan.cases[i].format).second) continue;
    for (const Step& step : plan.steps(i)) {
      if (step.executor == Executor::ptx) runs.insert(step.kernel);
    }
  }
  Progress progress("sources as PTX");
  ptx::compile_own_kernels(std::vector<const Kernel*>(runs.begin(), runs.end()), jobs,
                           [&](std::size_t done, std::size_t total) { progress.update(done, total); });
}

}  // namespace flashproof
