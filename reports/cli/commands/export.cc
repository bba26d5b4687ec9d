// export WITNESS|CASE --out DIR: the case for a reader without this project: one file of data, and one of
// Python that loads it, calls a kernel and says which element is worst.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "reference/problem/witness/witness.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/export/script.h"
#include "reports/record/report.h"
#include "reports/run/native.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// Null if neither the option nor the witness names one.
const Kernel* only_kernel(const ExportArguments& arguments, Notes& notes, ProblemKind problem) {
  const std::string glob = arguments.kernel.empty() ? notes["kernel"] : arguments.kernel;
  if (glob.empty()) return nullptr;
  std::vector<const Kernel*> found = select_kernels({glob});
  if (found.size() > 1) std::erase_if(found, [&](const Kernel* kernel) { return kernel->problem != problem; });
  if (found.size() == 1) return found.front();
  throw UsageError(
      fmt::format("--kernel {}: must name one kernel of the case's problem, it matches {}", quote(glob), found.size()));
}

struct KernelRun {
  RunOptions options;
  ElementIndex place;
  bool skipped = false;
};

KernelRun run_of(const ExportArguments& arguments, Notes& notes) {
  KernelRun run;
  const std::string schedule = arguments.schedule.empty() ? notes["schedule"] : arguments.schedule;
  if (!schedule.empty()) run.options.schedule = simt::parse_schedule(schedule);
  if (run.options.schedule.preempt > 0) {
    throw UsageError("--schedule " + quote(schedule) +
                     ": only kernels built for the race shadow give way at accesses, legal here: random:SEED");
  }
  run.place = place_of(arguments.executor, arguments.math, arguments.profile, notes);
  if (run.place.math == "all") throw UsageError("note math \"all\": must be det or native");
  const auto executors = executors_for(run.place.executor);
  run.skipped = executors.empty();
  if (!run.skipped) run.options.executor = executors.front();
  return run;
}

/// What runs the case again where this project is installed, with every option that this run had.
std::string replay_line(const ExportArguments& arguments, const Reproduction& reproduction, bool foreign) {
  if (reproduction.kernel.empty()) {
    return replay_command(arguments.target, Executor::cpu, Math::det) +
           (foreign ? " --plugin LIB, or of a Python callable: python3 -m flashproof FILE.py:FUNCTION --replay " +
                          shell_word(arguments.target)
                    : "");
  }
  const Executor executor = reproduction.place.starts_with("cpu")   ? Executor::cpu
                            : reproduction.place.starts_with("ptx") ? Executor::ptx
                                                                    : Executor::cuda;
  std::string line =
      replay_command(arguments.target, executor, reproduction.place.ends_with("native") ? Math::native : Math::det) +
      " --kernel " + reproduction.kernel;
  if (!arguments.profile.empty()) line += " --profile " + shell_word(arguments.profile);
  if (!arguments.schedule.empty()) line += " --schedule " + shell_word(arguments.schedule);
  return line;
}

/// The file and the script. What the script needs to know about the file: the formats in it.
void write_files(const ExportArguments& arguments, const Reproduction& reproduction, const Formula& formula,
                 std::map<std::string, Tensor> inputs, const std::string& foreign) {
  const std::filesystem::path out = arguments.out;
  const std::map<std::string, Tensor> tensors = tensors_of(reproduction, std::move(inputs));
  std::set<Format> formats;
  for (const auto& [name, tensor] : tensors) formats.insert(tensor.format);
  write_tensors(out / kReproductionFile, tensors, {{"case", reproduction.case_line}, {"kernel", reproduction.kernel}});
  write_atomically(out / kScriptFile, script_text(reproduction, formula, {formats.begin(), formats.end()},
                                                  arguments.python == "torch" ? Python::torch : Python::numpy,
                                                  replay_line(arguments, reproduction, !foreign.empty())));
  const std::string verdict =
      !reproduction.verdict.empty() ? reproduction.verdict
      : foreign.empty()             ? "no kernel named: the truth alone"
                        : "kernel " + quote(foreign) + " is none of this build: the truth alone, without its bound";
  std::printf("%s\n", verdict.c_str());
  say(fmt::format("wrote {} and {}; python3 {} {}", one_line((out / kReproductionFile).string()), kScriptFile,
                  one_line((out / kScriptFile).string()), reproduction.has_recorded() ? "recorded" : "exact"));
}

/// A foreign kernel's, which this process does not run: how it ran is nothing to this export either. The case needs no kernel.
std::string forget_foreign(const ExportArguments& arguments, Notes& notes) {
  const std::string foreign = arguments.kernel.empty() ? foreign_kernel(notes) : "";
  if (!foreign.empty()) notes.clear();
  return foreign;
}

}  // namespace

int export_command(const ExportArguments& arguments) {
  Notes notes;
  const PlannedCase planned = load_case(arguments.target, &notes);
  const Problem& problem = planned.data->problem;
  const std::string foreign = forget_foreign(arguments, notes);
  const Kernel* kernel = only_kernel(arguments, notes, planned.spec.problem);
  const KernelRun run = run_of(arguments, notes);
  if (run.skipped) return kExitSkipped;
  require_truth_memory(problem);
  Plan plan;
  if (kernel != nullptr) {
    plan.kernels = {kernel};
    plan.executors = {run.options.executor};
    choose_math(plan, run.place.math, arguments.profile);
    kernel = plan.kernels.front();
  }
  require_writable(arguments.out, "--out");
  write_files(arguments, reproduce(planned, kernel, run.options), formula_of(problem), inputs_of(problem), foreign);
  return kExitFine;
}

}  // namespace flashproof
