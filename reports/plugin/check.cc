#include "reports/plugin/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "reference/problem/error.h"
#include "reference/problem/progress.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/gpu.h"
#include "reports/plugin/witnesses.h"

namespace flashproof {
namespace {

/// A process is started for every death, and a hang takes its whole time: after so many nothing more is learned.
constexpr int kMostDeaths = 40, kMostHangs = 3;

template <class T>
std::vector<const T*> select(std::span<const T> all, std::span<const std::string> globs, std::string_view what) {
  std::vector<std::string_view> names;
  for (const T& one : all) names.push_back(one.name);
  std::vector<const T*> chosen;
  for (const std::size_t i : select_names(globs, names, what)) chosen.push_back(&all[i]);
  return chosen;
}

std::vector<const Kernel*> select(const Plugin& plugin, const PluginCheck& options) {
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

/// Everything that the parent keeps.
class Run {
 public:
  Run(const std::vector<const Kernel*>& kernels, const PluginCheck& options) : options_(options), kernels_(kernels) {
    // call_returns is asked in any case: without it a law cannot tell a kernel that fails from one that is wrong.
    std::vector<std::string> globs = options.laws;
    std::erase(globs, kCallReturns);
    if (globs.empty() == options.laws.empty()) laws_ = select(laws(), globs, "law");
    if (options.replay) {
      replay();
    } else {
      families();
    }
    for (const Kernel* kernel : kernels_) {
      results_.push_back({kernel, kCallReturns, {}});
      for (const Law* law : laws_) results_.push_back({kernel, law->name, {}});
    }
  }

  PluginReport run() {
    PoolHooks hooks;
    hooks.work = [&](std::uint64_t task, std::uint64_t first_step, WorkerVoice& voice) {
      ask_laws(tasks_[task], task, laws_, deaths_, first_step, voice);
    };
    hooks.result = [&](std::uint64_t task, std::uint64_t step, const std::string& text) {
      add(task, step, PluginAnswer::parse(text));
    };
    hooks.died = [&](std::uint64_t task, std::uint64_t step, const std::string& how) { died(task, step, how); };
    PluginReport report;
    {
      Progress progress("families of kernels");
      hooks.progress = [&](std::uint64_t done) { progress.update(done, tasks_.size()); };
      const PoolOutcome outcome = run_pool(tasks_.size(), hooks, {.jobs = jobs(), .step_seconds = options_.seconds});
      report.partial = !outcome.complete;
      report.failure = outcome.failure;
    }
    for (const auto& [key, failure] : first_) results_[key].failure = failure.second;
    report.results = std::move(results_);
    if (!options_.replay && !options_.out.empty()) keep_witnesses(report.results, options_, jobs());
    return report;
  }

 private:
  /// The GPU's kernels one after another: several processes would share its memory, and a fault of one may end the others.
  int jobs() const {
    return std::ranges::any_of(kernels_, [](const Kernel* k) { return k->has_cuda; }) ? 1 : options_.jobs;
  }

  void families() {
    const auto chosen = select(flashproof::families(), options_.families, "family");
    std::erase_if(kernels_, [&](const Kernel* kernel) {
      return std::ranges::none_of(chosen, [&](const Family* family) { return family->serves(kernel->problem); });
    });
    for (const Kernel* kernel : kernels_) {
      for (const Family* family : chosen) {
        if (!family->serves(kernel->problem)) continue;
        tasks_.push_back({kernel, cases_of(*kernel, *family)});
      }
    }
    if (kernels_.empty()) throw UsageError("no chosen family serves the problem of a chosen kernel");
  }

  /// The first cases from the seed on that the kernel's description takes; where it takes none, the first of all, so that it shows.
  std::vector<CaseSpec> cases_of(const Kernel& kernel, const Family& family) const {
    constexpr std::uint64_t kTries = 12;  // per case wanted; some features a family has in every case
    std::vector<CaseSpec> taken, first;
    for (std::uint64_t i = 0; i < kTries * options_.cases && taken.size() < options_.cases; ++i) {
      const CaseSpec spec{kernel.problem,
                          std::string(family.name),
                          options_.seed + i,
                          {{"format", std::string(info(kernel.formats[0]).name)}}};
      if (i < options_.cases) first.push_back(spec);
      try {
        if (kernel.unsupported(make_case(spec).problem).empty()) taken.push_back(spec);
      } catch (const UsageError&) {
        continue;  // the family has no such case
      }
    }
    return taken.empty() ? first : taken;
  }

  void replay() {
    const Problem& problem = options_.replay->problem;
    std::erase_if(kernels_,
                  [&](const Kernel* k) { return k->problem != kind_of(problem) || !k->supports(format_of(problem)); });
    if (kernels_.empty()) throw UsageError("no chosen kernel takes this problem in this format");
    for (const Kernel* kernel : kernels_) {
      tasks_.push_back({kernel, {options_.replay->spec}, &*options_.replay});
    }
  }

  void died(std::uint64_t task, std::uint64_t step, const std::string& how) {
    const Kernel* kernel = tasks_[task].kernel;
    const std::uint64_t per_case = laws_.size() + 1;
    const std::pair at(task, step / per_case);
    const bool again =
        step % per_case != 0 && deaths_.calls.contains(at);  // in a worker that was there before the first death
    auto& [deaths, hangs] = counts_[kernel];
    ++deaths;
    if (how.starts_with("gave no result")) ++hangs;
    if (deaths >= kMostDeaths || hangs >= kMostHangs) deaths_.given_up.insert(kernel);
    if (again) return add(task, step, {{VerdictKind::unsupported, Failure::none, "not asked: the call failed"}});
    add(task, step, {{VerdictKind::fail, Failure::error, "the process " + how}});
  }

  void add(std::uint64_t task_number, std::uint64_t step, const PluginAnswer& answer) {
    const PluginTask& task = tasks_.at(task_number);
    const std::uint64_t per_case = laws_.size() + 1;
    const CaseSpec& spec = task.cases.at(step / per_case);
    const auto kernel = static_cast<std::size_t>(std::ranges::find(kernels_, task.kernel) - kernels_.begin());
    const std::size_t key = kernel * per_case + step % per_case;
    PluginResult& result = results_.at(key);
    result.tally.add(answer.verdict, answer.ratio);
    result.by_family[spec.family].add(answer.verdict, answer.ratio);
    // A law's own reason says more than that the kernel does not take the case.
    const std::string& refused = results_[kernel * per_case].does_not_apply;
    if (answer.verdict.kind == VerdictKind::unsupported &&
        (result.does_not_apply.empty() || answer.verdict.detail != refused)) {
      result.does_not_apply = answer.verdict.detail;
    }
    if (!answer.verdict.failed()) return;
    if (step % per_case == 0) deaths_.calls.insert({task_number, step / per_case});
    // Workers finish in any order; the first is the first of the list.
    const auto at = std::pair(task_number, step);
    const auto [first, is_new] = first_.try_emplace(key, at, PluginFailure{spec, answer.verdict, {}, {}});
    if (!is_new && at < first->second.first) first->second = {at, {spec, answer.verdict, {}, {}}};
  }

  const PluginCheck& options_;
  std::vector<const Kernel*> kernels_;
  std::vector<const Law*> laws_;
  std::vector<PluginTask> tasks_;
  std::vector<PluginResult> results_;
  PluginDeaths deaths_;
  std::map<const Kernel*, std::pair<int, int>> counts_;
  std::map<std::size_t, std::pair<std::pair<std::uint64_t, std::uint64_t>, PluginFailure>> first_;
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

bool PluginReport::found() const {
  return !untested().empty() ||
         std::ranges::any_of(results, [](const PluginResult& r) { return r.tally.verdict.failed(); });
}

std::vector<const Kernel*> PluginReport::untested() const {
  std::vector<const Kernel*> kernels;
  for (const PluginResult& r : results) {
    if (r.law == kCallReturns && r.decided() == 0) kernels.push_back(r.kernel);
  }
  return kernels;
}

PluginReport check_plugin(const Plugin& plugin, const PluginCheck& options) {
  std::vector<const Kernel*> kernels = select(plugin, options);
  std::vector<const Kernel*> need_gpu;
  std::string why;
  if (std::ranges::any_of(kernels, [](const Kernel* k) { return k->has_cuda; }) && !any_gpu_elsewhere(&why)) {
    std::ranges::copy_if(kernels, std::back_inserter(need_gpu), [](const Kernel* k) { return k->has_cuda; });
    std::erase_if(kernels, [](const Kernel* k) { return k->has_cuda; });
  }
  PluginReport report;
  if (!kernels.empty()) report = Run(kernels, options).run();
  report.need_gpu = std::move(need_gpu);
  report.why_no_gpu = std::move(why);
  return report;
}

}  // namespace flashproof
