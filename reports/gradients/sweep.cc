#include "reports/gradients/sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "reference/problem/error.h"

namespace flashproof {
namespace {

/// Everything that happens inside a worker for one case.
class CaseWork {
 public:
  CaseWork(const GradientPlan& plan, std::size_t max_elements, std::uint64_t index)
      : plan_(plan), max_elements_(max_elements), index_(index), steps_(plan.steps(index)) {}

  void run_from(std::uint64_t first_step, WorkerVoice& voice) {
    try {
      case_ = plan_.make(index_);
    } catch (const UsageError& e) {
      refused_ = e.what();  // the family has no such case: counted as unsupported, never silently skipped
    }
    for (std::uint64_t step = first_step; step < steps_.size(); ++step) {
      context_lost_ = false;
      voice.result(step, run_step(step, voice).serialize());
      if (context_lost_) ::_exit(1);  // between two steps: the pool goes on with the next one in a new process
    }
  }

 private:
  GradientResult unsupported(const std::string& why, Asked asked = Asked::no) const {
    return gradient_not_judged(index_, VerdictKind::unsupported, Failure::none, why, asked);
  }

  GradientResult run_step(std::uint64_t step, WorkerVoice& voice) {
    const BackwardKernel& kernel = *steps_[step].kernel;
    if (!case_) return unsupported(refused_);
    const BackwardProblem& problem = case_->problem;
    const Format format = problem.forward.q.format;
    if (const std::string why = kernel.unsupported(problem); !why.empty()) return unsupported(why);
    if (!truth_) {
      truth_ = backward_truth(problem, format);
      forward_ = forward_errors(problem);
    }
    BackwardBound bound;
    Gradients gradients;
    Asked asked = Asked::yes;  // a feature that has no bound yet
    try {
      bound = backward_bound(problem, kernel.arithmetic_for(format), forward_);
      asked = Asked::refused;
      voice.starting(step);
      gradients = run(kernel, problem, {steps_[step].executor, plan_.schedule});
    } catch (const UsageError& e) {
      voice.returned();
      return unsupported(e.what(), asked);
    } catch (const simt::Fault& e) {
      voice.returned();
      return gradient_not_judged(index_, VerdictKind::fail, Failure::error, e.what());
    } catch (const KernelFault& e) {
      voice.returned();
      context_lost_ = steps_[step].executor == Executor::cuda;
      return gradient_not_judged(index_, VerdictKind::fail, Failure::error, e.what());
    }
    voice.returned();
    const JudgedGradients judged{gradients, *truth_, bound};
    const GradientJudgement judgement = judge(judged, kernel.contract, plan_.cases[index_].spec.seed);
    if (!gaps_) gaps_ = trivial_gaps(problem, *truth_);
    const Power power = power_of(judged, kernel.contract, *gaps_);
    GradientResult result = evaluate({kernel, judged, judgement, &power}, index_, max_elements_);
    if (!sizes_) sizes_ = sizes_of(problem);
    result.sizes = sizes_;
    result.sizes->merges = merges_of(kernel.arithmetic_for(format), problem);
    return result;
  }

  const GradientPlan& plan_;
  std::size_t max_elements_;
  std::uint64_t index_;
  std::vector<GradientStep> steps_;
  std::optional<BackwardCase> case_;
  std::string refused_;
  std::optional<BackwardTruth> truth_;  // of *case_
  ForwardErrors forward_;
  std::optional<TrivialGradientGaps> gaps_;  // the same
  std::optional<CaseSizes> sizes_;           // without merges
  bool context_lost_ = false;                // a fault on the GPU: this process can run nothing more there
};

}  // namespace

std::uint64_t GradientSweep::executed() const {
  std::uint64_t sum = 0;
  for (const GradientRecord& r : records) sum += r.cases - r.count(VerdictKind::unsupported);
  return sum;
}

PoolOptions gradient_pool(const GradientPlan& plan, int jobs) {
  const bool gpu = std::find(plan.executors.begin(), plan.executors.end(), Executor::cuda) != plan.executors.end();
  PoolOptions pool;
  pool.jobs = gpu ? 1 : std::clamp(jobs, 1, static_cast<int>(std::clamp<std::size_t>(plan.cases.size(), 1, 4096)));
  return pool;
}

GradientSweep sweep(const GradientPlan& plan, const SweepOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  GradientSweep result;
  const auto collect = [&](std::uint64_t task, std::uint64_t step_index, GradientResult one) {
    one.seed = plan.cases[task].spec.seed;
    const GradientStep step = plan.steps(task).at(step_index);
    GradientRecord key;
    key.kernel = step.kernel;
    key.executor = step.executor;
    key.format = plan.cases[task].format;
    key.family = plan.cases[task].spec.family;
    auto at = std::lower_bound(result.records.begin(), result.records.end(), key, gradient_key_less);
    if (at == result.records.end() || !same_gradient_key(*at, key)) at = result.records.insert(at, key);
    at->add(one);
    if (options.keep_results) result.results.push_back({step, std::move(one)});
  };
  PoolHooks hooks;
  hooks.steps = [&](std::uint64_t task) { return plan.steps(task).size(); };
  hooks.work = [&](std::uint64_t task, std::uint64_t first_step, WorkerVoice& voice) {
    try {
      CaseWork(plan, options.max_elements, task).run_from(first_step, voice);
    } catch (const std::exception& e) {  // no kernel's doing: say where
      throw InfrastructureError(fmt::format("{}: {}", backward_line(plan.cases[task].spec), e.what()));
    }
  };
  hooks.result = [&](std::uint64_t task, std::uint64_t step, const std::string& text) {
    collect(task, step, GradientResult::deserialize(text));
  };
  hooks.died = [&](std::uint64_t task, std::uint64_t step, const std::string& how) {
    collect(task, step, gradient_not_judged(task, VerdictKind::fail, Failure::error, "the process " + how));
  };
  hooks.progress = [&](std::uint64_t done) {
    if (options.progress) options.progress(done, plan.cases.size());
  };
  PoolOutcome outcome = run_pool(plan.cases.size(), hooks, gradient_pool(plan, options.jobs));
  result.partial = !outcome.complete;
  result.failure = std::move(outcome.failure);
  std::sort(result.results.begin(), result.results.end(), [](const GradientStepResult& a, const GradientStepResult& b) {
    return std::tuple(a.result.case_index, a.step.kernel->id, a.step.kernel->math, a.step.executor) <
           std::tuple(b.result.case_index, b.step.kernel->id, b.step.kernel->math, b.step.executor);
  });
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace flashproof
