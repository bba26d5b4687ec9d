// What a worker does: one kernel of a plugin, case by case, law by law. A step is a number, so that the parent knows which one
// took its worker down.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "properties/laws/law.h"
#include "reports/plugin/check.h"
#include "reports/workers.h"

namespace flashproof {

/// One kernel on some cases. Steps: of each case call_returns, then the laws.
struct PluginTask {
  const Kernel* kernel;
  std::vector<CaseSpec> cases;
  const Case* data = nullptr;  // in place of the one spec
};

/// What the parent has learned by the time a worker is forked, so that the next one need not learn it again.
struct PluginDeaths {
  std::set<std::pair<std::uint64_t, std::uint64_t>> calls;  // task and case whose call failed
  std::set<const Kernel*> given_up;                         // died or hung so often that nothing more is asked
};

/// A verdict as it goes through a pipe, with the largest error/bound (−1: none was measured).
struct PluginAnswer {
  Verdict verdict;
  double ratio = -1;

  std::string text() const;
  /// Throws UsageError on anything else.
  static PluginAnswer parse(const std::string& text);
};

RunOptions run_options(const Kernel& kernel);
/// Steps first_step .. of the task.
void ask_laws(const PluginTask& task, std::uint64_t number, std::span<const Law* const> laws,
              const PluginDeaths& deaths, std::uint64_t first_step, WorkerVoice& voice);
/// After this the process can run nothing more on its GPU: the CUDA context is lost. ask_laws() ends it, and a new one goes on.
bool spoils_process(const Kernel& kernel, const Verdict& verdict);
/// The kernel alone. UsageError is unsupported, KernelFault is fail(error).
Verdict call_returns(Trial& trial);

}  // namespace flashproof
