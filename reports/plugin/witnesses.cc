#include "reports/plugin/witnesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "kernels/plugin/plugin_process.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/shrink.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/refusals.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 400;

std::filesystem::path path_of(const PluginResult& result, const std::filesystem::path& folder) {
  return folder /
         fmt::format("{}.{}.{}.safetensors", result.kernel->id, info(result.kernel->formats[0]).name, result.law);
}

void write(const PluginResult& result, const std::filesystem::path& folder, const Case& content) {
  write_witness(path_of(result, folder),
                {content,
                 {{"kernel", std::string(result.kernel->id)},
                  {"law", std::string(result.law)},
                  {"executor", std::string(name(run_options(*result.kernel, content).executor))},
                  {"verdict", to_string(Verdict{result.failure->verdict.kind, result.failure->verdict.failure, {}})}}});
}

/// In a worker: fails in the same way. `detail` is how, then.
bool fails(const PluginResult& result, const Case& c, std::string& detail) {
  Trial trial(*result.kernel, c, nullptr, run_options(*result.kernel, c), runner_that_asks_again());
  Verdict verdict = call_returns(trial);
  if (result.law != kCallReturns) {
    if (verdict.kind != VerdictKind::pass) return false;
    verdict = ask(*find_law(result.law), trial);
  }
  if (!verdict.failed() || verdict.failure != result.failure->verdict.failure) return false;
  detail = std::move(verdict.detail);
  return true;
}

}  // namespace

void keep_witnesses(std::vector<PluginResult>& results, const std::string& library, const PluginCheck& options,
                    int jobs) {
  std::error_code error;
  const std::filesystem::path given = std::filesystem::path(options.out) / "witnesses" / library;
  const std::filesystem::path out = std::filesystem::absolute(given);  // a kernel may change the folder of a worker
  std::filesystem::create_directories(out, error);
  std::vector<PluginResult*> found;
  for (PluginResult& result : results) {
    if (!error) std::filesystem::remove(path_of(result, out), error);
    if (error) throw InfrastructureError("--out " + quote(options.out.string()) + ": " + error.message());
    if (!result.failure || !result.failure->together.empty())
      continue;  // no single case fails: the replay line has them all
    write(result, out, make_case(result.failure->spec));
    result.failure->witness = path_of(result, given).string();
    // A process per try would be slow: what ends its process, or its GPU, is kept as it was drawn.
    const Verdict& verdict = result.failure->verdict;
    const bool lost_gpu = result.kernel->has_cuda && verdict.failure == Failure::error;
    if (!ended_process(verdict) && !lost_gpu) found.push_back(&result);
  }
  PoolHooks hooks;
  hooks.steps = [](std::uint64_t) { return std::uint64_t{1}; };
  hooks.work = [&](std::uint64_t task, std::uint64_t first_step, StepReporter& reporter) {
    if (first_step > 0) return;  // the first ended it: the file is there
    const PluginResult& result = *found[task];
    shield_judge();
    reporter.starting(0);
    const auto end = Clock::now() + std::chrono::duration<double>(options.seconds / 4);
    Case c = make_case(result.failure->spec);
    std::string said, detail;
    const auto still = [&](const Problem& problem) {
      return Clock::now() < end && fails(result, {c.spec, problem}, detail);
    };
    if (fails(result, c, detail)) {  // again: what fails only now and then cannot be made simpler
      const Complexity before = complexity(c.problem);
      c.problem = minimise(c.problem, still, kTries);
      if (complexity(c.problem) != before) {
        write(result, out, c);
        said = brief(c.problem);
      }
    }
    reporter.result(0, fmt::format("{} {}{}", said.size(), one_line(said), one_line(detail)));
    reporter.returned();
  };
  hooks.result = [&](std::uint64_t task, std::uint64_t, const std::string& text) {
    const std::size_t space = text.find(' ');
    const auto length = parse_count(text.substr(0, space));
    if (!length || space == std::string::npos) throw UsageError("no witness: " + quote(text));
    if (*length == 0) return;
    const std::size_t end = space + 1 + static_cast<std::size_t>(*length);
    found[task]->failure->shrunk = text.substr(space + 1, end - space - 1);
    found[task]->failure->verdict.detail = text.substr(std::min(text.size(), end));
  };
  hooks.crashed = [](std::uint64_t, std::uint64_t, const std::string&) {};
  run_pool(found.size(), hooks, {.jobs = jobs, .step_seconds = options.seconds});
}

}  // namespace flashproof
