// explain KERNEL --case CASE: one output element in words.
#include <cstdio>

#include "kernels/run/run.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/diagnose/explain.h"
#include "reports/run/evaluate.h"
#include "reports/run/native.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

const Kernel& only_kernel(const std::string& glob) {
  const auto kernels = select_kernels({glob});
  if (kernels.size() == 1) return *kernels.front();
  std::string names;
  for (const Kernel* kernel : kernels) names += (names.empty() ? "" : ", ") + std::string(kernel->id);
  throw UsageError("KERNEL " + one_line(glob) + ": must name one kernel, it matches " + names);
}

void require_taken(const Kernel& kernel, const PlannedCase& planned) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--case: " + std::string(kernel.id) + " does not take it: " + why);
  };
  if (kernel.problem != planned.spec.problem) refuse("it is a kernel for " + std::string(name(kernel.problem)));
  if (!kernel.supports(planned.format)) refuse("no " + std::string(info(planned.format).name));
  if (const std::string why = kernel.unsupported(planned.data->problem); !why.empty()) refuse(why);
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  Plan plan;
  Notes notes;
  const PlannedCase planned = load_case(arguments.target, &notes);
  if (foreign_kernel(notes) == arguments.kernel && !arguments.kernel.empty()) {
    throw UsageError("KERNEL " + quote(arguments.kernel) +
                     ": no kernel of this build, the only ones that explain looks into; replay WITNESS --plugin LIB "
                     "runs a library's");
  }
  plan.kernels = {&only_kernel(arguments.kernel)};
  const Problem& problem = planned.data->problem;
  require_taken(*plan.kernels.front(), planned);
  require_truth_memory(problem);
  ElementChoice choice;
  if (!arguments.element.empty()) choice = parse_element(arguments.element, problem);
  RunOptions options;
  const ElementIndex place = place_of(arguments.executor, arguments.math, arguments.profile, notes);
  if (notes["math"] == "native" && place.math == "det") {
    say("the witness is of native math, this is the deterministic kernel; --math native explains the native one");
  }
  if (place.math == "all") throw UsageError("--math all: explain takes one element of one run, det or native");
  const auto executors = executors_for(place.executor);
  if (executors.empty()) return kExitSkipped;
  options.executor = executors.front();
  plan.executors = executors;
  choose_math(plan, place.math, arguments.profile);
  const Kernel& kernel = *plan.kernels.front();

  CaseTruth truth(*planned.data);
  const Bound bound = judged_bound(kernel, *planned.data, truth);
  Output output;
  try {
    output = run(kernel, problem, options);
  } catch (const simt::Fault& e) {
    say("the kernel failed: " + std::string(e.what()));
    return kExitFinding;
  } catch (const KernelFault& e) {
    say("the kernel failed: " + std::string(e.what()));
    return kExitFinding;
  }
  const Judgement judgement = judge(output, truth.truth(), bound, kernel.contract, 0, next_tier_of(truth, kernel));
  const Evaluation evaluation{kernel, *planned.data, output, truth.truth(), bound, judgement};
  if (arguments.element.empty()) choice = worst_element(evaluation);
  const std::string text = explain_text(evaluation, options.executor, choice);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitFine;
}

}  // namespace flashproof
