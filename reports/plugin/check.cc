#include "reports/plugin/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernels/plugin/plugin_process.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "reference/system/child_process.h"
#include "reference/system/error.h"
#include "reference/system/progress.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/draw.h"
#include "reports/plugin/gpu.h"
#include "reports/plugin/kernel_run.h"
#include "reports/plugin/pieces.h"
#include "reports/plugin/witnesses.h"

namespace flashproof {
namespace {

/// A call has its own limit, which counts nothing of ours. So much on the clock for one law on one case is more than it needs: only a
/// judge that is held up takes longer.
constexpr double kStepSeconds = 600, kStepLimits = 100;

template <class T>
std::vector<const T*> select_by_name(std::span<const T> all, std::span<const std::string> globs,
                                     std::string_view what) {
  std::vector<std::string_view> names;
  for (const T& one : all) names.push_back(one.name);
  std::vector<const T*> chosen;
  for (const std::size_t i : select_names(globs, names, what)) chosen.push_back(&all[i]);
  return chosen;
}

}  // namespace

std::vector<const Kernel*> chosen_kernels(const Plugin& plugin, const PluginCheck& options) {
  std::vector<std::string_view> ids;
  for (const Kernel& kernel : plugin.kernels()) ids.push_back(kernel.id);
  std::vector<const Kernel*> chosen;
  for (const std::size_t i : select_names(options.kernels, ids, "kernel")) chosen.push_back(&plugin.kernels()[i]);
  std::vector<std::string_view> formats;
  formats.reserve(chosen.size());
  for (const Kernel* kernel : chosen) formats.push_back(info(kernel->formats[0]).name);
  std::vector<const Kernel*> result;
  for (const std::size_t i : select_names(options.formats, formats, "format")) result.push_back(chosen[i]);
  return result;
}

namespace {

/// Everything that the parent keeps.
class Run {
 public:
  Run(const Plugin& plugin, const std::vector<const Kernel*>& kernels, const PluginCheck& options)
      : options_(options), kernels_(kernels), library_(std::filesystem::path(plugin.path()).stem().string()) {
    const std::vector<const Law*> asked = chosen_laws();
    if (!options.replay.empty()) replay();
    const auto families = !options.replay.empty() ? std::vector<const Family*>{} : chosen_families();
    const auto about = [&](const Kernel* k) {
      return std::ranges::any_of(asked, [&](const Law* law) { return law->is_of(k->problem); });
    };
    if (!asked.empty() && std::ranges::none_of(kernels_, about)) {
      throw UsageError("--law: none that was chosen is about the problem of a chosen kernel");
    }
    for (const Kernel* kernel : kernels_) {
      const Described& described = plugin.described(*kernel);
      KernelRun& run =
          runs_.try_emplace(kernel, *kernel, questions(kernel->problem, asked), described.declared).first->second;
      std::ranges::move(draw_tasks(run, described, families, options, turn_of(*kernel, kernels_)),
                        std::back_inserter(tasks_));
    }
    tasks_ = in_pieces(std::move(tasks_), work_);
    turns_ = turns(tasks_, work_);
    for (const PluginTask& task : tasks_) {
      cases_ += task.cases.size();
      for (const CaseSpec& spec : task.cases) all_work_ += work_(task, spec);
    }
    add_parts(families);
  }

  PluginReport run() {
    PoolHooks hooks;
    hooks.steps = [&](std::uint64_t turn) {
      const PluginTask& task = tasks_.at(turns_.at(turn));
      return task.cases.size() * per_case(task);
    };
    hooks.work = [&](std::uint64_t turn, std::uint64_t first_step, StepReporter& reporter) {
      const std::uint64_t task = turns_[turn];
      ask_laws(tasks_[task], task, runs_.at(tasks_[task].kernel).questions(), crashes_, first_step, reporter);
    };
    hooks.result = [&](std::uint64_t turn, std::uint64_t step, const std::string& text) {
      add(turns_.at(turn), step, PluginAnswer::parse(text));
    };
    hooks.crashed = [&](std::uint64_t turn, std::uint64_t step, const std::string& how) {
      crashed(turns_.at(turn), step, how);
    };
    PluginReport report;
    report.replay = !options_.replay.empty();
    report.parts = parts_;
    {
      Progress progress("cases");
      progress_ = &progress;
      const PoolOutcome outcome = run_pool(tasks_.size(), hooks, {.jobs = jobs(), .step_seconds = step_seconds()});
      report.partial = !outcome.complete;
      report.failure = outcome.failure;
    }
    for (const Kernel* kernel : kernels_) {
      KernelRun& run = runs_.at(kernel);
      std::optional<PluginFailure> contradiction;
      report.outcomes.push_back(run.outcome(report.replay, contradiction));
      for (std::size_t step = 0; step <= run.questions().size(); ++step) {
        if (!run.asked(step)) continue;
        PluginResult& result = report.results.emplace_back(std::move(run.results()[step]));
        const auto first = first_.find({kernel, step});
        if (first != first_.end()) result.failure = first->second.second;
        if (step == 1 && !result.failure) result.failure = contradiction;
      }
    }
    end_children_except({});  // of a library whose judge was ended
    if (!report.partial) report.causes = diagnoses();
    if (!report.replay && !options_.out.empty()) keep_witnesses(report.results, library_, options_, jobs());
    return report;
  }

 private:
  /// What is wrong with each kernel that a judging law rejects, of a replay by the recipe that its case comes from. One whose call was a finding is not called again: what it does to the
  /// process that looks would be done once more.
  std::map<const Kernel*, std::vector<Cause>> diagnoses() const {
    std::vector<FailingRuns> runs;
    for (const auto& [at, failed] : judged_) {
      const PluginTask& task = tasks_[at.first];
      if (first_.contains({task.kernel, 0}) || find_family(task.cases[at.second].family) == nullptr) continue;
      auto run = std::ranges::find(runs, task.kernel, &FailingRuns::kernel);
      if (run == runs.end()) {
        run = runs.insert(runs.end(), {task.kernel, {}, {}, task.kernel->has_cuda ? Executor::cuda : Executor::cpu});
      }
      (failed ? run->failing : run->passing).push_back(task.cases[at.second]);
    }
    std::erase_if(runs, [](const FailingRuns& run) { return run.failing.empty(); });
    if (runs.empty()) return {};
    const std::vector<std::vector<Cause>> causes = diagnose_apart(runs, jobs(), step_seconds(), shield_judge);
    std::map<const Kernel*, std::vector<Cause>> by_kernel;
    for (std::size_t i = 0; i < runs.size(); ++i) by_kernel[runs[i].kernel] = causes[i];
    end_children_except({});
    return by_kernel;
  }

  /// The GPU's kernels one after another: several processes would share its memory, and a fault of one may end the others.
  int jobs() const {
    return std::ranges::any_of(kernels_, [](const Kernel* k) { return k->has_cuda; }) ? 1 : options_.jobs;
  }

  std::uint64_t per_case(const PluginTask& task) const { return runs_.at(task.kernel).questions().size() + 1; }

  /// Of any problem. call_returns is asked in any case: without it a law cannot tell a kernel that fails from one that is wrong.
  std::vector<const Law*> chosen_laws() const {
    std::vector<std::string> globs = options_.laws;
    std::erase(globs, kCallReturns);
    if (globs.empty() != options_.laws.empty()) return {};
    return select_laws(globs);
  }

  double step_seconds() const { return std::max(kStepSeconds, kStepLimits * options_.seconds); }

  /// Kernels whose problem none of them serves are left out.
  std::vector<const Family*> chosen_families() {
    const auto chosen = select_by_name(flashproof::families(), options_.families, "family");
    std::erase_if(kernels_, [&](const Kernel* kernel) {
      return std::ranges::none_of(chosen, [&](const Family* family) { return family->serves(kernel->problem); });
    });
    if (kernels_.empty()) throw UsageError("no chosen family serves the problem of a chosen kernel");
    return chosen;
  }

  /// Of every problem of a chosen kernel: the covering arrays that are not drawn whole.
  void add_parts(const std::vector<const Family*>& families) {
    std::set<ProblemKind> problems;
    for (const Kernel* kernel : kernels_) problems.insert(kernel->problem);
    for (const ProblemKind problem : problems) {
      std::vector<std::string> drawn;
      for (const Family* family : families) {
        if (!family->serves(problem)) continue;
        const CoveringCases cases = covering_cases(*family, problem, options_.cases);
        if (cases.drawn < cases.round) {
          drawn.push_back(fmt::format("{} of {} rows of {}", cases.drawn, cases.round, family->name));
        }
      }
      if (drawn.empty()) continue;
      parts_.push_back(fmt::format("{}: of covering arrays {}; {} cases per family, the default, take all",
                                   name(problem), fmt::join(drawn, ", "), PluginCheck{}.cases));
    }
  }

  static bool serves(const Kernel& kernel, const Case& one) {
    return kernel.problem == kind_of(one.problem) && kernel.supports(format_of(one.problem));
  }

  void replay() {
    std::erase_if(kernels_, [&](const Kernel* k) {
      return std::ranges::none_of(options_.replay, [&](const Case& c) { return serves(*k, c); });
    });
    if (kernels_.empty()) throw UsageError("no chosen kernel takes this problem in this format");
    for (const Kernel* kernel : kernels_) {
      for (const Case& one : options_.replay) {
        if (serves(*kernel, one)) tasks_.push_back({kernel, {one.spec}, &one});
      }
    }
  }

  void crashed(std::uint64_t task, std::uint64_t step, const std::string& how) {
    const Kernel* kernel = tasks_[task].kernel;
    const std::uint64_t steps = per_case(tasks_[task]);
    const std::pair at(task, step / steps);
    const bool again =
        step % steps != 0 && crashes_.calls.contains(at);  // in a worker that was there before the first crash
    if (again) {
      crashes_.note_crash(kernel);
      return add(task, step, {{VerdictKind::unsupported, Failure::none, std::string(kNotAsked) + "the call failed"}});
    }
    add(task, step, {{VerdictKind::fail, Failure::error, "the process " + how}});
  }

  void add(std::uint64_t task_number, std::uint64_t step, const PluginAnswer& answer) {
    const PluginTask& task = tasks_.at(task_number);
    const std::uint64_t steps = per_case(task);
    const CaseSpec& spec = task.cases.at(step / steps);
    KernelRun& run = runs_.at(task.kernel);
    if (step % steps == steps - 1) {
      asked_work_ += work_(task, spec);
      progress_->update(++asked_cases_, cases_, asked_work_ / all_work_);
    }
    if (crashes_.given_up.contains(task.kernel)) run.give_up();
    run.add(spec, step % steps, answer);
    if (step % steps != 0 && run.questions()[step % steps - 1].law->judge != nullptr &&
        answer.verdict.kind != VerdictKind::unsupported) {
      judged_[{task_number, step / steps}] |= answer.verdict.failed();
    }
    crashes_.note(task.kernel, {task_number, step / steps}, step % steps == 0, answer.verdict);
    if (!answer.verdict.failed()) return;
    if (first_.empty() && options_.replay.empty()) {  // it decides the run's verdict, and the rest takes minutes
      progress_->say(fmt::format("{} {} already fails {} on {}; going on to see where else, and why", task.kernel->id,
                                 info(task.kernel->formats[0]).name, run.results()[step % steps].law, to_string(spec)));
    }
    // Workers finish in any order; the first is the first of the list.
    const auto at = std::pair(task_number, step);
    const auto [first, is_new] =
        first_.try_emplace({task.kernel, step % steps}, at, PluginFailure{spec, answer.verdict, {}, {}});
    if (!is_new && at < first->second.first) first->second = {at, {spec, answer.verdict, {}, {}}};
  }

  const PluginCheck& options_;
  std::vector<const Kernel*> kernels_;
  std::string library_;  // its file, without folder and extension
  std::map<const Kernel*, KernelRun> runs_;
  WorkOf work_ = [this](const PluginTask& task, const CaseSpec& spec) { return runs_.at(task.kernel).work(spec); };
  std::vector<PluginTask> tasks_;     // in the order of the list
  std::vector<std::uint64_t> turns_;  // places in it, in the order in which they begin
  std::vector<std::string> parts_;    // PluginReport::parts
  PluginCrashes crashes_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, bool> judged_;  // by task and case: a judging law rejects it
  using TaskStep = std::pair<std::uint64_t, std::uint64_t>;
  std::map<std::pair<const Kernel*, std::size_t>, std::pair<TaskStep, PluginFailure>> first_;  // by kernel and step
  Progress* progress_ = nullptr;                                                               // while cases are asked
  std::uint64_t cases_ = 0, asked_cases_ = 0;                                                  // of all tasks
  double all_work_ = 0, asked_work_ = 0;
};

}  // namespace

void PluginTally::add(const Verdict& one, double its_ratio) {
  ++counts[static_cast<std::size_t>(one.kind)];
  if (outweighs(one, verdict)) verdict = one;
  ratio = std::max(ratio, its_ratio);
}

std::uint64_t PluginResult::decided() const {
  return tally.counts[static_cast<std::size_t>(VerdictKind::pass)] +
         tally.counts[static_cast<std::size_t>(VerdictKind::fail)];
}

std::uint64_t PluginResult::executed() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t cases : tally.counts) sum += cases;
  return sum - tally.counts[static_cast<std::size_t>(VerdictKind::unsupported)];
}

bool PluginReport::found() const {
  return !untested().empty() ||
         std::ranges::any_of(outcomes, [](const PluginOutcome& o) { return !o.narrow.empty(); }) ||
         std::ranges::any_of(results, [](const PluginResult& r) { return r.tally.verdict.failed(); });
}

bool PluginReport::undecided() const {
  if (found()) return false;
  return std::ranges::any_of(outcomes, [](const PluginOutcome& o) { return !o.undecided.empty(); });
}

std::vector<const Kernel*> PluginReport::untested() const {
  // What did not come to its turn is no fault of a kernel, nor a chosen case that it does not take.
  if (partial || replay) return {};
  std::vector<const Kernel*> kernels;
  for (const PluginResult& r : results) {
    if (r.law == kCallReturns && r.decided() == 0) kernels.push_back(r.kernel);
  }
  return kernels;
}

PluginReport check_plugin(const Plugin& plugin, const PluginCheck& options) {
  std::vector<const Kernel*> kernels = chosen_kernels(plugin, options);
  std::vector<const Kernel*> need_gpu;
  std::string why;
  if (std::ranges::any_of(kernels, [](const Kernel* k) { return k->has_cuda; }) && !any_gpu_elsewhere(&why)) {
    std::ranges::copy_if(kernels, std::back_inserter(need_gpu), [](const Kernel* k) { return k->has_cuda; });
    std::erase_if(kernels, [](const Kernel* k) { return k->has_cuda; });
  }
  PluginReport report;
  plugin.limit_calls(options.seconds);
  if (!kernels.empty()) report = Run(plugin, kernels, options).run();
  report.replaced = plugin.replaced();
  report.need_gpu = std::move(need_gpu);
  report.why_no_gpu = std::move(why);
  return report;
}

}  // namespace flashproof
