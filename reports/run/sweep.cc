#include "reports/run/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "kernels/run/run.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/oracle/oracle.h"
#include "reference/system/error.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Adds the time until the end of the scope.
struct Stopwatch {
  double& seconds;
  Clock::time_point start = Clock::now();
  ~Stopwatch() { seconds += seconds_since(start); }
};

/// Everything that happens inside a worker for one case.
class CaseWork {
 public:
  CaseWork(const Plan& plan, const GpuServer* gpu, std::size_t max_elements, std::uint64_t index)
      : plan_(plan), gpu_(gpu), max_elements_(max_elements), index_(index), steps_(plan.steps(index)) {}

  void run_from(std::uint64_t first_step, StepReporter& reporter) {
    make();
    for (std::uint64_t step = first_step; step < steps_.size(); ++step) {
      const CaseResult result = run_step(step, reporter);
      reporter.result(step, result.serialize());
    }
    reporter.note(
        fmt::format("{} {} {} {} {}", timing_.cases, timing_.truth, timing_.bound, timing_.run, timing_.judge));
  }

 private:
  void make() {
    const Stopwatch watch{timing_.cases};
    try {
      case_ = plan_.make(index_);
    } catch (const UsageError& e) {
      refused_ = e.what();  // the family has no such case: counted as unsupported, never silently skipped
    }
  }

  CaseResult unsupported(const std::string& why, Asked asked = Asked::no) const {
    return not_judged(index_, VerdictKind::unsupported, Failure::none, why, asked);
  }

  CaseResult run_step(std::uint64_t step, StepReporter& reporter) {
    const Kernel& kernel = *steps_[step].kernel;
    if (!case_) return unsupported(refused_);
    if (const std::string why = kernel.unsupported(case_->problem); !why.empty()) return unsupported(why);
    const bool gradient = kernel.problem == ProblemKind::backward;
    if (!truth_) {
      const Stopwatch watch{timing_.truth};
      truth_.emplace(*case_);
      truth_->truth();
      if (gradient) truth_->forward();
    }
    const Bound* bound = nullptr;
    try {
      bound = &bound_of(kernel);
    } catch (const UsageError& e) {  // a feature that has no bound yet
      return unsupported(e.what(), Asked::yes);
    }
    Output output;
    try {
      output = run_kernel(kernel, step, reporter);
    } catch (const UsageError& e) {
      reporter.returned();
      return unsupported(e.what(), Asked::refused);
    } catch (const simt::Fault& e) {
      reporter.returned();
      return not_judged(index_, VerdictKind::fail, Failure::error, e.what());
    } catch (const KernelFault& e) {
      reporter.returned();
      return not_judged(index_, VerdictKind::fail, Failure::error, e.what());
    }
    reporter.returned();
    const double truth_before = timing_.truth;
    CaseResult result;
    {
      const Stopwatch watch{timing_.judge};
      const std::uint64_t seed = plan_.cases[index_].spec.seed;
      const Truth& truth = truth_->truth();
      const Judgement judgement =
          judge(output, truth, *bound, kernel.contract, seed, gradient ? NextTier() : next_tier());
      const Power power = power_of(output, truth, *bound, judgement, kernel.contract, truth_->gaps());
      result = evaluate({kernel, *case_, output, truth, *bound, judgement, &power}, index_, max_elements_);
      if (!sizes_) sizes_ = sizes_of(case_->problem);
      result.sizes = sizes_;
      result.sizes->merges = merges_of(kernel, case_->problem);
    }
    timing_.judge -= timing_.truth - truth_before;
    return result;
  }

  NextTier next_tier() {
    return [this](std::int64_t row, int level) {
      const Stopwatch watch{timing_.truth};
      return truth_->oracle().row(row, level);
    };
  }

  Output run_kernel(const Kernel& kernel, std::uint64_t step, StepReporter& reporter) {
    const auto started = [&] { reporter.starting(step); };
    const Stopwatch watch{timing_.run};
    if (steps_[step].executor == Executor::cuda) return gpu_->run(kernel, index_, case_->problem, started);
    started();
    RunOptions options;
    options.executor = steps_[step].executor;
    options.schedule = plan_.schedule;
    return run(kernel, case_->problem, options);
  }

  /// Kernels on two executors stand next to each other: the last bound often serves twice.
  const Bound& bound_of(const Kernel& kernel) {
    if (bound_kernel_ != &kernel) {
      const Stopwatch watch{timing_.bound};
      bound_ = judged_bound(kernel, *case_, *truth_);
      bound_kernel_ = &kernel;
    }
    return bound_;
  }

  const Plan& plan_;
  const GpuServer* gpu_;
  std::size_t max_elements_;
  std::uint64_t index_;
  std::vector<Step> steps_;
  std::optional<Case> case_;
  std::string refused_;
  std::optional<CaseTruth> truth_;  // of *case_
  std::optional<CaseSizes> sizes_;  // the same, without merges
  Bound bound_;
  const Kernel* bound_kernel_ = nullptr;
  SweepTiming timing_;
};

/// The parent's side: lines in, records out.
class Collector {
 public:
  Collector(const Plan& plan, bool keep) : plan_(plan), keep_(keep) {}

  void add_timing(const std::string& text) {
    SweepTiming t;
    std::sscanf(text.c_str(), "%lf %lf %lf %lf %lf", &t.cases, &t.truth, &t.bound, &t.run, &t.judge);
    timing.cases += t.cases, timing.truth += t.truth, timing.bound += t.bound;
    timing.run += t.run, timing.judge += t.judge;
  }

  void add(std::uint64_t task, std::uint64_t step_index, CaseResult result) {
    result.seed = plan_.cases[task].spec.seed;
    const Step step = plan_.steps(task).at(step_index);
    Record key;
    key.kernel = step.kernel;
    key.executor = step.executor;
    key.format = plan_.cases[task].format;
    key.family = plan_.cases[task].spec.family;
    const auto less = [](const std::unique_ptr<Record>& a, const Record& b) { return key_less(*a, b); };
    auto at = std::lower_bound(records_.begin(), records_.end(), key, less);
    if (at == records_.end() || !same_key(**at, key)) at = records_.insert(at, std::make_unique<Record>(key));
    (*at)->add(result);
    if (keep_) results.push_back({step, std::move(result)});
  }

  /// In the order of keys.
  std::vector<Record> take_records() {
    std::vector<Record> records;
    records.reserve(records_.size());
    for (const auto& record : records_) records.push_back(std::move(*record));
    return records;
  }

  std::vector<StepResult> results;
  SweepTiming timing;

 private:
  const Plan& plan_;
  bool keep_;
  std::vector<std::unique_ptr<Record>>
      records_;  // a Record is large: with thousands of them, moving them is most of a run
};

}  // namespace

std::uint64_t SweepResult::executed() const {
  std::uint64_t sum = 0;
  for (const Record& record : records) {
    sum += record.cases - record.by_case[static_cast<std::size_t>(VerdictKind::unsupported)];
  }
  return sum;
}

std::string partial_text(const std::string& failure) {
  return failure.empty() ? "interrupted before every case had run." : "given up: " + one_line(failure);
}

SweepResult sweep(const Plan& plan, const SweepOptions& options) {
  const auto start = Clock::now();
  std::unique_ptr<GpuServer> gpu;
  if (std::find(plan.executors.begin(), plan.executors.end(), Executor::cuda) != plan.executors.end()) {
    gpu = std::make_unique<GpuServer>(plan, options.gpu);
  }
  Collector collector(plan, options.keep_results);
  PoolHooks hooks;
  hooks.steps = [&](std::uint64_t task) { return plan.steps(task).size(); };
  hooks.work = [&](std::uint64_t task, std::uint64_t first_step, StepReporter& reporter) {
    try {
      CaseWork(plan, gpu.get(), options.max_elements, task).run_from(first_step, reporter);
    } catch (const std::exception& e) {  // no kernel's doing: say where
      throw InfrastructureError(fmt::format("{}: {}", to_string(plan.cases[task].spec), e.what()));
    }
  };
  hooks.result = [&](std::uint64_t task, std::uint64_t step, const std::string& text) {
    collector.add(task, step, CaseResult::deserialize(text));
  };
  hooks.note = [&](const std::string& text) { collector.add_timing(text); };
  hooks.crashed = [&](std::uint64_t task, std::uint64_t step, const std::string& how) {
    collector.add(task, step, not_judged(task, VerdictKind::fail, Failure::error, std::string(kProcessEnded) + how));
  };
  hooks.progress = [&](std::uint64_t done) {
    if (options.progress) options.progress(done, plan.cases.size());
  };
  PoolOptions pool;
  pool.jobs = static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max(1, options.jobs)),
                                                       std::max<std::size_t>(1, plan.cases.size())));
  SweepResult result;
  PoolOutcome outcome = run_pool(plan.cases.size(), hooks, pool);
  result.partial = !outcome.complete;
  result.failure = std::move(outcome.failure);
  result.records = collector.take_records();
  result.results = std::move(collector.results);
  std::sort(result.results.begin(), result.results.end(), [](const StepResult& a, const StepResult& b) {
    return std::tuple(a.result.case_index, a.step.kernel->id, a.step.kernel->math, a.step.executor) <
           std::tuple(b.result.case_index, b.step.kernel->id, b.step.kernel->math, b.step.executor);
  });
  result.timing = collector.timing;
  result.timing.wall = seconds_since(start);
  return result;
}

}  // namespace flashproof
