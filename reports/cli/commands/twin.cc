// twin: every kernel on fibers and on the GPU, or as PTX on the CPU, det or native math, output bits compared (NaN as one value). The
// GPU's numbers are then the CPU's numbers, and a machine without a GPU tests both.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "kernels/run/native_kernel.h"
#include "kernels/run/run.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reports/cli/commands/commands.h"
#include "reports/record/report.h"
#include "reports/run/environment.h"
#include "reports/run/evaluate.h"
#include "reports/run/native.h"
#include "reports/run/sweep.h"
#include "reports/run/twin_compare.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/gpu_server.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

using TwinKey = std::pair<std::string, Format>;  // full_id()

/// One kernel on one case, on fibers and on the other; `gpu` null: as PTX.
TwinRow compare_one(const Kernel& kernel, const Problem& problem, const GpuServer* gpu, std::uint64_t index,
                    const std::function<void()>& starting, const std::function<void()>& returned) {
  TwinRow row;
  row.cases = 1;
  try {
    std::string fault;
    Output output[2];
    const auto attempt = [&](int which, const char* executor, auto&& launch) {
      try {
        output[which] = launch();
      } catch (const simt::Fault& e) {
        if (fault.empty()) fault = fmt::format("{}: {}", executor, e.what());
      } catch (const KernelFault& e) {
        if (fault.empty()) fault = fmt::format("{}: {}", executor, e.what());
      }
      returned();
    };
    attempt(0, "cpu", [&] {
      starting();
      return run(kernel, problem);
    });
    attempt(1, gpu != nullptr ? "cuda" : "ptx", [&] {
      if (gpu != nullptr) return gpu->run(kernel, index, problem, starting);
      starting();
      return run(kernel, problem, {.executor = Executor::ptx});
    });
    if (fault.empty()) {
      row.compare(output[0], output[1]);
    } else {
      row.fault(fault);
    }
  } catch (const UsageError&) {  // the kernel does not take it after all
    returned();
    row = TwinRow{};
    row.unsupported = 1;
  }
  return row;
}

void run_case(const Plan& plan, const GpuServer* gpu, std::uint64_t index, std::uint64_t first_step,
              StepReporter& reporter) {
  const auto steps = plan.steps(index);
  std::optional<Case> subject;
  try {
    subject = plan.make(index);
  } catch (const UsageError&) {  // the family has no such case
  }
  for (std::uint64_t step = first_step; step < steps.size(); ++step) {
    const Kernel& kernel = *steps[step].kernel;
    TwinRow row;
    if (subject && kernel.unsupported(subject->problem).empty()) {
      row = compare_one(
          kernel, subject->problem, gpu, index, [&] { reporter.starting(step); }, [&] { reporter.returned(); });
    } else {
      row.unsupported = 1;
    }
    reporter.result(step, row.serialize());
  }
}

std::string head(const Environment& e, bool on_gpu) {
  const std::string where =
      on_gpu ? fmt::format("- GPU {}\n- CUDA compiler {}\n", markdown_escaped(e.gpu), markdown_escaped(e.cuda_compiler))
             : "";
  return fmt::format(
      "# Twin check: CPU executor against {}, bit for bit\n\n- date {}\n{}- host compiler {}, {}\n- revision {}\n\n",
      on_gpu ? "CUDA" : "the kernels' PTX on the CPU", e.date, where, markdown_escaped(e.compiler),
      markdown_escaped(e.cpu), markdown_escaped(e.revision));
}

/// The rows of one plan, and how its pool ended.
struct Twins {
  Plan plan;
  std::map<TwinKey, TwinRow> rows = {};
  PoolOutcome outcome = {};

  void run(int jobs) {
    std::optional<GpuServer> gpu;
    if (plan.executors.front() == Executor::cuda) gpu.emplace(plan);
    Progress progress("cases");
    const auto row_of = [&](std::uint64_t task, std::uint64_t step) -> TwinRow& {
      return rows[{full_id(*plan.steps(task).at(step).kernel), plan.cases[task].format}];
    };
    PoolHooks hooks;
    hooks.steps = [&](std::uint64_t task) { return plan.steps(task).size(); };
    hooks.work = [&](std::uint64_t task, std::uint64_t step, StepReporter& reporter) {
      run_case(plan, gpu ? &*gpu : nullptr, task, step, reporter);
    };
    hooks.result = [&](std::uint64_t task, std::uint64_t step, const std::string& text) {
      row_of(task, step).merge(TwinRow::deserialize(text), task);
    };
    hooks.crashed = [&](std::uint64_t task, std::uint64_t step, const std::string& how) {
      TwinRow row;
      row.cases = 1;
      row.fault("the process " + how);
      row_of(task, step).merge(row, task);
    };
    hooks.progress = [&](std::uint64_t done) { progress.update(done, plan.cases.size()); };
    PoolOptions pool;
    pool.jobs = jobs;
    outcome = run_pool(plan.cases.size(), hooks, pool);
  }

  std::string table() const {
    std::string out =
        "| kernel | format | cases | unsupported | elements | equal | first difference |\n"
        "|---|---|--:|--:|--:|--:|---|\n";
    for (const auto& [key, row] : rows) {
      const std::string first = row.differing()
                                    ? fmt::format("`{}` {}", one_line(to_string(plan.cases[row.first_case].spec)),
                                                  markdown_escaped(row.first_text))
                                    : "–";
      out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", key.first, info(key.second).name, row.cases,
                         row.unsupported, row.elements, row.percent(), first);
    }
    return out;
  }
};

}  // namespace

int twin_command(const SweepArguments& arguments, const std::string& out_file) {
  const bool on_gpu = arguments.executor == name(Executor::cuda);
  // One step per kernel: the worker itself runs both executors.
  Twins twins{
      make_plan(arguments.filters, arguments.tier(), arguments.seed, {on_gpu ? Executor::cuda : Executor::ptx})};
  // A kernel whose contract leaves its order open (atomics) is left out: its bits say nothing.
  std::erase_if(twins.plan.kernels, [](const Kernel* kernel) { return !kernel->contract.deterministic; });
  if (!out_file.empty()) require_writable_file(out_file, "--out");
  check_math(arguments.math, "");
  const int jobs = jobs_for(arguments.jobs);
  std::string why;
  if (on_gpu && cuda_devices_elsewhere(&why) == 0) {
    say("skipped: the twin check needs a GPU (" + why + "); --exec ptx compares with the kernels' PTX on the CPU");
    return kExitSkipped;
  }
  if (!on_gpu && executors_for(arguments.executor).empty()) return kExitSkipped;
  if (arguments.math != "det") {
    add_native_bits(twins.plan, on_gpu ? gpu_elsewhere() : modelled_profile().gpu, arguments.math == "all");
  }
  stop_on_signals();
  compile_ptx(twins.plan, jobs);
  twins.run(jobs);
  const PoolOutcome& outcome = twins.outcome;
  std::string text = head(this_environment(on_gpu), on_gpu) + twins.table();
  if (!outcome.complete) text += fmt::format("\n**Partial:** {}\n", markdown_escaped(partial_text(outcome.failure)));
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!out_file.empty()) write_atomically(out_file, text);
  const std::map<TwinKey, TwinRow>& rows = twins.rows;
  const bool any = std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.second.cases > 0; });
  if (outcome.complete && !any) {
    say("no case was executed, so nothing was compared");
    return kExitFinding;
  }
  const bool differing = std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.second.differing(); });
  return closing_code(!outcome.complete, outcome.failure, differing);
}

}  // namespace flashproof
