#include "reports/plugin/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/block.h"
#include "reports/plugin/draw.h"
#include "reports/plugin/gpu.h"
#include "reports/plugin/kernel_run.h"
#include "reports/suggest/special_rows.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kCasesPerTask = 16;
constexpr double kStepSeconds = 600;

bool is_made(const Case& one) { return one.spec.keys.contains(kPlanted); }

std::vector<Question> questions_of(ProblemKind problem, AskedLaws laws) {
  if (laws == AskedLaws::all) return questions(problem, laws_of(problem));
  std::vector<Question> list = questions(problem, {});  // every run asks the judging laws
  std::erase_if(list, [](const Question& one) { return one.law->judge == nullptr; });
  return list;
}

/// AskCases: a candidate's cases in pieces, each in a worker.
class InWorkers {
 public:
  explicit InWorkers(const PluginCheck& options) : options_(options) {}

  std::vector<std::vector<CaseSaid>> operator()(std::span<const Kernel> candidates, std::span<const Case> cases,
                                                AskedLaws asked) {
    std::vector<std::vector<CaseSaid>> said(candidates.size(), std::vector<CaseSaid>(cases.size()));
    std::vector<PluginTask> tasks;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // candidate and first case of each task
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      for (std::size_t first = 0; first < cases.size();) {
        PluginTask& task = tasks.emplace_back(PluginTask{&candidates[c], {}});
        places.emplace_back(c, first);
        if (is_made(cases[first])) {  // its spec makes no case
          task.data = &cases[first];
          task.cases.push_back(cases[first++].spec);
          continue;
        }
        while (first < cases.size() && task.cases.size() < kCasesPerTask && !is_made(cases[first]))
          task.cases.push_back(cases[first++].spec);
      }
    }
    if (tasks.empty()) return said;
    const std::vector<Question> laws = questions_of(candidates.front().problem, asked);
    const std::uint64_t per_case = laws.size() + 1;
    const auto at = [&](std::uint64_t task, std::uint64_t step) -> CaseSaid& {
      const auto& [candidate, first] = places.at(task);
      return said[candidate].at(first + step / per_case);
    };
    PluginCrashes crashes;  // of these candidates
    const auto learn = [&](std::uint64_t task, std::uint64_t step, const Verdict& verdict) {
      crashes.note(tasks.at(task).kernel, {task, step / per_case}, step % per_case == 0, verdict);
    };
    Progress progress(fmt::format("answers about {}", counted(candidates.size(), "declaration", "declarations")));
    std::uint64_t answers = 0;
    PoolHooks hooks;
    hooks.steps = [&](std::uint64_t task) { return tasks.at(task).cases.size() * per_case; };
    hooks.work = [&](std::uint64_t task, std::uint64_t first_step, StepReporter& reporter) {
      ask_laws(tasks[task], task, laws, crashes, first_step, reporter);
    };
    hooks.result = [&](std::uint64_t task, std::uint64_t step, const std::string& text) {
      PluginAnswer answer = PluginAnswer::parse(text);
      learn(task, step, answer.verdict);
      const std::uint64_t at_case = step % per_case;
      add(std::move(answer), at_case == 0 ? nullptr : laws[at_case - 1].law, at(task, step));
      progress.update(++answers, candidates.size() * cases.size() * per_case);
    };
    hooks.crashed = [&](std::uint64_t task, std::uint64_t step, const std::string& how) {
      const Verdict verdict{VerdictKind::fail, Failure::error, "the process " + how};
      learn(task, step, verdict);
      at(task, step).verdict = verdict;
    };
    const PoolOutcome outcome = run_pool(tasks.size(), hooks, {.jobs = jobs(candidates), .step_seconds = kStepSeconds});
    if (!outcome.failure.empty()) throw InfrastructureError(outcome.failure);
    if (!outcome.complete) throw InfrastructureError("interrupted: nothing is suggested");
    return said;
  }

 private:
  int jobs(std::span<const Kernel> candidates) const { return candidates.front().has_cuda ? 1 : options_.jobs; }

  /// nullptr: of the call. As ask_case().
  static void add(PluginAnswer answer, const Law* law, CaseSaid& said) {
    if (law == nullptr) {
      said.verdict = std::move(answer.verdict);
      return;
    }
    said.seen.asked |= answer.alternatives.asked;
    said.seen.failed |= answer.alternatives.failed;
    if (!answer.powers.empty()) said.powers = std::move(answer.powers);
    // That the call returned is no verdict of a law.
    const bool first = law == &judging_laws().front() && said.verdict.kind == VerdictKind::pass;
    const bool says = law->judge != nullptr || answer.verdict.failed();
    if (first || (says && outweighs(answer.verdict, said.verdict))) said.verdict = std::move(answer.verdict);
  }

  const PluginCheck& options_;
};

std::vector<Case> drawn_cases(const Plugin& plugin, const Kernel& kernel, std::span<const Family* const> families,
                              const PluginCheck& options) {
  const Described& described = plugin.described(kernel);
  KernelRun run(kernel, questions_of(kernel.problem, AskedLaws::judging), described.declared);
  std::vector<Case> cases;
  for (const PluginTask& task :
       draw_tasks(run, described, families, options, turn_of(kernel, chosen_kernels(plugin, options)))) {
    for (const CaseSpec& spec : task.cases) {
      try {
        cases.push_back(make_case(spec));
      } catch (const UsageError&) {  // the family has no such case
      }
    }
  }
  return cases;
}

}  // namespace

std::vector<KernelSuggestion> suggest_for(const Plugin& plugin, const PluginCheck& options) {
  const std::vector<const Kernel*> kernels = chosen_kernels(plugin, options);
  std::vector<std::string_view> names;
  for (const Family& family : families()) names.push_back(family.name);
  std::vector<const Family*> chosen;
  for (const std::size_t i : select_names(options.families, names, "family")) chosen.push_back(&families()[i]);
  plugin.limit_calls(options.seconds);
  std::vector<KernelSuggestion> list;
  for (const Kernel* kernel : kernels) {
    KernelSuggestion& one = list.emplace_back(KernelSuggestion{kernel});
    if (kernel->has_cuda && !any_gpu_elsewhere(&one.why_not)) continue;
    try {
      one.suggestion = suggest(*kernel, drawn_cases(plugin, *kernel, chosen, options), InWorkers(options));
    } catch (const UsageError& e) {
      one.why_not = e.what();
    }
  }
  if (const std::string why = plugin.replaced(); !why.empty()) throw InfrastructureError(why);
  return list;
}

int show(const std::vector<KernelSuggestion>& suggestions) {
  bool finding = false, skipped = false;
  for (const KernelSuggestion& one : suggestions) {
    if (!one.why_not.empty()) {
      std::printf("SKIPPED %s: %s\n", full_name(*one.kernel).c_str(), one.why_not.c_str());
      skipped = true;
      continue;
    }
    std::printf("%s", suggestion_text(one.suggestion, full_name(*one.kernel), std::string(one.kernel->id)).c_str());
    if (one.suggestion.found) continue;
    (one.suggestion.unexplained.empty() ? skipped : finding) = true;
  }
  if (finding) return kExitFinding;
  return skipped || suggestions.empty() ? kExitSkipped : kExitFine;
}

}  // namespace flashproof
