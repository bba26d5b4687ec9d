// replay WITNESS|CASE: one case again, on the kernel that the witness names or on every kernel of its problem; and where it
// names a law, or a second kernel, what that one says.
#include <algorithm>
#include <cstdio>

#include "fuzz/score/score.h"
#include "properties/laws/law.h"
#include "properties/laws/support/race_observer.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/diagnose/cause/cause.h"
#include "reports/plugin/check.h"
#include "reports/record/report.h"
#include "reports/run/native.h"
#include "reports/run/sweep.h"
#include "reports/workers/workers.h"

namespace flashproof {

namespace {

/// What the options say, else the witness's notes: schedule, kernels (a seeded fault fails by design; it runs when it is
/// named), where and with which math.
ElementIndex settle(Plan& plan, const ReplayArguments& arguments, Notes& notes) {
  const bool own_schedule = arguments.schedule.empty() && notes.contains("schedule");
  const std::string schedule = own_schedule ? notes["schedule"] : arguments.schedule;
  plan.schedule = simt::parse_schedule(schedule.empty() ? "fifo" : schedule);
  if (plan.schedule.preempt > 0) {
    throw UsageError("--schedule " + quote(schedule) +
                     ": only kernels built for the race shadow give way at accesses, legal here: random:SEED");
  }
  std::vector<std::string> globs = arguments.kernels;
  if (const std::string foreign = foreign_kernel(notes); globs.empty() && !foreign.empty()) {
    throw UsageError("note kernel " + quote(foreign) +
                     ": no kernel of this build: --plugin LIB runs it where a library has it, python3 -m flashproof "
                     "FILE.py:FUNCTION --replay WITNESS where a callable is it, --kernel G a kernel of this build");
  }
  if (globs.empty() && notes.contains("kernel")) globs = {notes["kernel"]};
  plan.kernels = select_kernels(globs);
  const ElementIndex place = place_of(arguments.executor, arguments.math, arguments.profile, notes);
  plan.executors = executors_for(place.executor);
  if (schedule != "fifo" && !schedule.empty() && place.executor != name(Executor::cpu)) {
    if (!own_schedule)
      throw UsageError("--schedule " + quote(schedule) + ": of the CPU executor, legal: with --exec cpu");
    say("the witness's schedule " + quote(schedule) + " is of the CPU executor: --exec " + place.executor +
        " has none");
  }
  return place;
}

SweepOptions replay_options() {
  SweepOptions options;
  options.max_elements = 4;
  options.keep_results = true;
  return options;
}

/// Prints every result; the exit code: kExitSkipped where nothing failed and some kernel decides too little of the case.
int show(const SweepResult& result, const ReplayArguments& arguments, const CaseSpec& spec) {
  bool finding = false, undecided = false;
  for (const StepResult& r : result.results) {
    std::printf("%s\n", one_line(verdict_line(*r.step.kernel, r.step.executor, spec, r.result)).c_str());
    const VerdictKind kind = r.result.verdict.kind;
    undecided = undecided || (kind != VerdictKind::pass && kind != VerdictKind::unsupported);
    if (kind < VerdictKind::inconclusive) continue;
    for (const std::string& text : element_lines(r.result.elements, r.result.failing_elements)) {
      std::printf("%s\n", one_line(text).c_str());
    }
    if (r.result.failed()) finding = true;
    if (r.result.failed() && result.results.size() > 1) {  // which of them it was, for one more time
      const std::string again = replay_command(arguments.target, r.step.executor, r.step.kernel->math);
      std::printf("    %s --kernel %s\n", again.c_str(), std::string(r.step.kernel->id).c_str());
    }
  }
  if (!result.partial && result.executed() == 0) {
    say("no selected kernel takes this case, so nothing was tested");
    return kExitUsage;
  }
  return closing_code(result.partial, result.failure, finding, undecided);
}

/// What is wrong with the kernel that fails, of a case that has a recipe: by that and its next seeds, as of a library's kernel. Where several
/// fail, each has a line that replays it alone. The diagnosis runs deterministic kernels on the CPU executor, and none that ended a process.
void say_diagnosis(const SweepResult& result, const CaseSpec& spec) {
  std::vector<const StepResult*> failing;
  for (const StepResult& r : result.results) {
    if (r.result.failed()) failing.push_back(&r);
  }
  if (failing.size() != 1 || find_family(spec.family) == nullptr) return;
  const Step& step = failing[0]->step;
  const bool ended = failing[0]->result.verdict.failure == Failure::error;
  if (ended || step.executor != Executor::cpu || step.kernel->math != Math::det) return;
  const FailingRuns runs[] = {{step.kernel, {spec}, {}, step.executor}};
  const std::vector<Cause> causes = diagnose_apart(runs, 1).front();
  for (const Cause& cause : causes) {
    if (cause.confident) std::printf("  diagnosis: %s\n", one_line(cause.text()).c_str());
  }
}

/// "kernel law cpu case verdict"; the exit code.
int say_verdict(const std::string& id, const std::string& case_line, const Verdict& verdict) {
  std::printf("%s\n", one_line(verdict_line(id, name(Executor::cpu), case_line, verdict, {})).c_str());
  return verdict.failed() ? kExitFinding : kExitFine;
}

/// What a finding of a relating law rests on, which no sweep asks: the law that the witness notes, on the CPU executor.
int replay_law(const Case& c, const Plan& plan, const std::string& law_name) {
  if (law_name == kCallReturns)
    return kExitFine;  // asked of libraries alone; that a kernel returned the sweep has seen
  const Law* law = find_law(law_name);
  if (law == nullptr) throw UsageError("note law " + quote(law_name) + ": no such law (list laws)");
  if (!law->is_of(c.spec.problem)) {
    throw UsageError("note law " + quote(law_name) + ": no law of " + std::string(name(c.spec.problem)));
  }
  if (law->judge != nullptr) return kExitFine;  // the sweep has asked it
  set_race_observer(observe);
  int code = kExitFine;
  for (const Kernel* kernel : plan.kernels) {
    RunOptions options;
    options.schedule = plan.schedule;
    Trial trial(*kernel, c, nullptr, options);
    code = std::max(code, say_verdict(full_id(*kernel) + " " + law_name, to_string(c.spec), ask(*law, trial)));
  }
  return code;
}

/// The kernel beside the one that the witness notes.
int replay_pair(const Case& c, const Plan& plan, const std::string& against) {
  const Kernel* other = find_kernel(against);
  if (other == nullptr) throw UsageError("note against " + quote(against) + ": no such kernel (list kernels)");
  int code = kExitFine;
  for (const Kernel* kernel : plan.kernels) {
    RunOptions options;
    options.schedule = plan.schedule;
    const Score score = score_pair(*kernel, *other, c, options);
    code = std::max(code, say_verdict(full_id(*kernel) + "|" + against, to_string(c.spec), score.verdict));
  }
  return code;
}

}  // namespace

int replay_command(const ReplayArguments& arguments) {
  Notes notes;
  const PlannedCase planned = load_case(arguments.target, &notes);
  require_truth_memory(planned.data->problem);
  Plan plan;
  const ElementIndex place = settle(plan, arguments, notes);
  plan.cases = {planned};
  if (plan.executors.empty()) return kExitSkipped;
  choose_math(plan, place.math, arguments.profile);
  stop_on_signals();
  compile_ptx(plan, jobs_for(0));
  const SweepResult result = sweep(plan, replay_options());
  const int code = show(result, arguments, planned.spec);
  if (code == kExitFinding && !stop_requested()) say_diagnosis(result, planned.spec);
  const Case c{planned.spec, planned.data->problem};
  const bool was_judged = code <= kExitFinding || code == kExitSkipped;
  if (!was_judged || place.executor != name(Executor::cpu)) return code;
  int more = kExitFine;
  if (notes.contains("law")) more = replay_law(c, plan, notes["law"]);
  if (notes.contains("against")) more = std::max(more, replay_pair(c, plan, notes["against"]));
  return more == kExitFinding ? more : code;
}

}  // namespace flashproof
