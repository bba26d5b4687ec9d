#include "reports/gradients/twin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "reference/problem/error.h"

namespace flashproof {
namespace {

/// `lost`: the GPU's context went with the kernel's fault.
TwinRow compare_one(const BackwardKernel& kernel, const BackwardProblem& problem, const std::function<void()>& starting,
                    const std::function<void()>& returned, bool& lost) {
  TwinRow row;
  row.cases = 1;
  Gradients gradients[2];
  constexpr Executor kExecutors[] = {Executor::cpu, Executor::cuda};
  for (int which = 0; which < 2; ++which) {
    const auto fault = [&](const std::exception& e) {
      returned();
      row.fault(fmt::format("{}: {}", name(kExecutors[which]), e.what()));
    };
    try {
      starting();
      gradients[which] = run(kernel, problem, {kExecutors[which], {}});
      returned();
    } catch (const simt::Fault& e) {
      fault(e);
    } catch (const KernelFault& e) {
      fault(e);
      lost = kExecutors[which] == Executor::cuda;
    } catch (const UsageError&) {  // the kernel does not take it after all
      returned();
      row = TwinRow{};
      row.unsupported = 1;
      return row;
    }
  }
  if (row.faults == 0) row.compare(gradients[0], gradients[1]);
  return row;
}

void run_case(const GradientPlan& plan, std::uint64_t index, std::uint64_t first_step, WorkerVoice& voice) {
  const auto steps = plan.steps(index);
  std::optional<BackwardCase> subject;
  try {
    subject = plan.make(index);
  } catch (const UsageError&) {  // the family has no such case
  }
  for (std::uint64_t step = first_step; step < steps.size(); ++step) {
    const BackwardKernel& kernel = *steps[step].kernel;
    TwinRow row;
    bool lost = false;
    if (subject && kernel.unsupported(subject->problem).empty()) {
      row = compare_one(kernel, subject->problem, [&] { voice.starting(step); }, [&] { voice.returned(); }, lost);
    } else {
      row.unsupported = 1;
    }
    voice.result(step, row.serialize());
    if (lost) ::_exit(1);  // between two steps, as in sweep.cc
  }
}

}  // namespace

GradientTwin gradient_twin(GradientPlan plan,
                           const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  std::erase_if(plan.kernels, [](const BackwardKernel* kernel) { return !kernel->contract.deterministic; });
  GradientTwin twin;
  const auto row_of = [&](std::uint64_t task, std::uint64_t step) -> TwinRow& {
    return twin.rows[{plan.steps(task).at(step).kernel->id, plan.cases[task].format}];
  };
  PoolHooks hooks;
  hooks.steps = [&](std::uint64_t task) { return plan.steps(task).size(); };
  hooks.work = [&](std::uint64_t task, std::uint64_t step, WorkerVoice& voice) { run_case(plan, task, step, voice); };
  hooks.result = [&](std::uint64_t task, std::uint64_t step, const std::string& text) {
    row_of(task, step).merge(TwinRow::deserialize(text), task);
  };
  hooks.died = [&](std::uint64_t task, std::uint64_t step, const std::string& how) {
    TwinRow row;
    row.cases = 1;
    row.fault("the process " + how);
    row_of(task, step).merge(row, task);
  };
  hooks.progress = [&](std::uint64_t done) { progress(done, plan.cases.size()); };
  twin.outcome = run_pool(plan.cases.size(), hooks, gradient_pool(plan, 1));
  return twin;
}

}  // namespace flashproof
