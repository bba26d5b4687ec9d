// What a worker does: one kernel of a plugin, case by case, law by law. It judges; the library is in a process of its own
// (kernels/plugin/plugin_process.h). A step is a number, so that the parent knows which one took its worker down.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "properties/laws/law.h"
#include "properties/laws/run_power.h"
#include "reports/plugin/check.h"
#include "reports/workers/workers.h"

namespace flashproof {

/// One kernel on some cases. Steps: of each case call_returns, then the laws.
struct PluginTask {
  const Kernel* kernel;
  std::vector<CaseSpec> cases;
  const Case* data = nullptr;           // in place of the one spec
  std::optional<CaseSpec> before = {};  // the case of the family before the first of these, which another task has
};

/// A verdict as it goes through a pipe, with the largest error/bound (−1: none was measured). Of the first judging law also what
/// the case has decided, by alternative of the declaration (Trial::judged()).
struct PluginAnswer {
  Verdict verdict;
  double ratio = -1;
  AlternativesSeen alternatives = {};
  std::map<std::size_t, Power> powers = {};

  std::string text() const;
  /// Throws UsageError on anything else.
  static PluginAnswer parse(const std::string& text);
};

/// What the parent has learned by the time a worker is forked, so that the next one need not learn it again.
struct PluginCrashes {
  std::set<std::pair<std::uint64_t, std::uint64_t>> calls;  // task and case whose call failed
  std::set<const Kernel*> given_up;                         // crashed or hung so often that nothing more is asked

  /// The answer to a step of this task and case, 0 being the call. A worker that ended without one counts as a crash.
  void note(const Kernel* kernel, std::pair<std::uint64_t, std::uint64_t> at, bool call, const Verdict& verdict);
  void note_crash(const Kernel* kernel, bool hung = false);

 private:
  std::map<const Kernel*, std::pair<int, int>> counts_;  // crashes, hangs
};

/// How the detail of an answer begins that was given without asking, for what the kernel did before.
inline constexpr std::string_view kNotAsked = "not asked: ";

/// How the kernel is run on a case: a pure function of the two.
RunOptions run_options(const Kernel& kernel, const Case& subject);
/// Steps first_step .. of the task.
void ask_laws(const PluginTask& task, std::uint64_t number, std::span<const Question> questions,
              const PluginCrashes& crashes, std::uint64_t first_step, StepReporter& reporter);
/// The kernel's call ended the process that it was in.
bool ended_process(const Verdict& verdict);
/// And that by giving no answer for as long as it may take.
bool held_up_process(const Verdict& verdict);
/// The kernel alone. UsageError is unsupported, KernelFault is fail(error). Of a failure that is none where every tensor is aligned to
/// 256 bytes, the verdict says so.
Verdict call_returns(Trial& trial);
/// One law, of a kernel whose call returned; a judging one with what it has seen. Failures as of call_returns().
PluginAnswer ask_law(const Law& law, Trial& trial, Extent extent = Extent::any);

}  // namespace flashproof
