// twin: every det kernel on both executors, output bits compared (NaN as one value). The GPU's numbers are then the
// CPU's numbers, and a machine without a GPU tests both.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "kernels/run.h"
#include "reference/problem/error.h"
#include "reports/commands/commands.h"
#include "reports/environment.h"
#include "reports/exit_codes.h"
#include "reports/gpu_server.h"
#include "reports/progress.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/twin_compare.h"
#include "reports/workers.h"

namespace flashproof {
namespace {

using Key = std::pair<std::string_view, Format>;

void run_case(const Plan& plan, const GpuServer& gpu, std::uint64_t index, std::uint64_t first_step,
              WorkerVoice& voice) {
  const auto steps = plan.steps(index);
  const Case subject = plan.make(index);
  for (std::uint64_t step = first_step; step < steps.size(); ++step) {
    const Kernel& kernel = *steps[step].kernel;
    TwinRow row;
    if (kernel.unsupported(subject.problem).empty()) {
      row.cases = 1;
      voice.starting(step);
      std::string fault[2];
      Output output[2];
      const auto attempt = [&](int which, auto&& launch) {
        try {
          output[which] = launch();
        } catch (const simt::Fault& e) {
          fault[which] = e.what();
        } catch (const GpuProcessDied& e) {
          fault[which] = e.what();
        }
      };
      attempt(0, [&] { return run(kernel, subject.problem); });
      attempt(1, [&] { return gpu.run(kernel, index, subject.problem); });
      voice.returned();
      if (fault[0].empty() && fault[1].empty()) {
        row.compare(output[0], output[1]);
      } else {
        row.fault(fault[0].empty() ? "cuda: " + fault[1] : "cpu: " + fault[0]);
      }
    }
    voice.line(fmt::format("{} {}", step, row.serialize()));
    voice.complete(step);
  }
}

std::string table(const std::map<Key, TwinRow>& rows, const Plan& plan, const Environment& e) {
  std::string out = fmt::format(
      "# Twin check: CPU executor against CUDA, bit for bit\n\n- date {}\n- GPU {}\n- CUDA compiler {}\n- host "
      "compiler {}, {}\n- revision {}\n\n",
      e.date, markdown_escaped(e.gpu), markdown_escaped(e.cuda_compiler), markdown_escaped(e.compiler),
      markdown_escaped(e.cpu), markdown_escaped(e.revision));
  out += "| kernel | format | cases | elements (o and lse) | equal | first difference |\n|---|---|--:|--:|--:|---|\n";
  for (const auto& [key, row] : rows) {
    const std::string first = row.differing()
                                  ? fmt::format("`{}` {}", one_line(to_string(plan.cases[row.first_case].spec)),
                                                markdown_escaped(row.first_text))
                                  : "–";
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.first, info(key.second).name, row.cases, row.elements,
                       row.percent(), first);
  }
  return out;
}

}  // namespace

int twin_command(const SweepArguments& arguments, const std::string& out_file) {
  std::string why;
  if (cuda_devices_elsewhere(&why) == 0) {
    say("skipped: the twin check needs a GPU (" + why + ")");
    return kExitSkipped;
  }
  // One step per kernel: the worker itself runs both executors.
  Plan plan = make_plan(arguments.filters, arguments.tier(), arguments.seed, {Executor::cuda});
  stop_on_signals();
  std::map<Key, TwinRow> rows;
  bool complete = false;
  {
    const GpuServer gpu(plan);
    Progress progress("cases");
    const auto row_of = [&](std::uint64_t task, std::uint64_t step) -> TwinRow& {
      return rows[{plan.steps(task).at(step).kernel->id, plan.cases[task].format}];
    };
    PoolHooks hooks;
    hooks.work = [&](std::uint64_t task, std::uint64_t step, WorkerVoice& voice) {
      run_case(plan, gpu, task, step, voice);
    };
    hooks.receive = [&](std::uint64_t task, const std::string& line) {
      const std::size_t space = line.find(' ');
      row_of(task, std::stoull(line)).merge(TwinRow::deserialize(line.substr(space + 1)), task);
    };
    hooks.died = [&](std::uint64_t task, std::uint64_t step, const std::string& how) {
      TwinRow row;
      row.cases = 1;
      row.fault("the process was " + how);
      row_of(task, step).merge(row, task);
    };
    hooks.progress = [&](std::uint64_t done) { progress.update(done, plan.cases.size()); };
    PoolOptions pool;
    pool.jobs = jobs_for(arguments.jobs);
    complete = run_pool(plan.cases.size(), hooks, pool);
  }
  std::string text = table(rows, plan, this_environment());
  if (!complete) text += "\n**Partial:** interrupted before every case had run.\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!out_file.empty()) write_atomically(out_file, text);
  const bool any = std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.second.elements > 0; });
  if (!any) say("no case was executed, so nothing was compared");
  const bool equal = std::none_of(rows.begin(), rows.end(), [](const auto& r) { return r.second.differing(); });
  return any && equal ? kExitFine : kExitFinding;
}

}  // namespace flashproof
