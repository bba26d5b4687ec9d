// The bytes drive the interleaving: a kernel's result must not depend on the order in which its threads run and its copies
// land, and no two accesses may be left without an order.
#include "fuzz/targets/one_kernel.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

std::vector<TargetSubject> subjects() {
  std::vector<TargetSubject> list;
  for (const ProblemKind problem : {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention}) {
    for (TargetSubject& subject : subjects_of(problem)) list.push_back(std::move(subject));
  }
  return list;
}

/// The law by the input's law byte: odd asks the race shadow, which is the slower one.
ScoreOptions options_of(const FuzzInput& input) {
  return {.run = run_options(input, Executor::cpu),
          .law = find_law(input.law % 2 == 1 ? "no_race" : "schedule_invariance_is_bitwise")};
}

Scored run(const TargetSubject& subject, const FuzzInput& input, Executor executor) {
  if (executor != Executor::cpu) throw UsageError("--exec: a schedule is an input of the CPU executor alone");
  const Case c = subject_case(subject, input);
  return scored(score(kernel_of(subject.kernel), c, options_of(input)), c, input);
}

Minimised minimise_schedule(const TargetSubject& subject, const FuzzInput& input, Executor, const Defect& defect,
                            int tries, const std::function<bool()>& stop) {
  const ScoreOptions options = options_of(input);
  return minimise_with({subject, input, defect, tries, stop},
                       [&](const Case& c) { return score(kernel_of(subject.kernel), c, options); },
                       {{"kernel", subject.kernel},
                        {"executor", "cpu"},
                        {"math", "det"},
                        {"schedule", to_string(options.run.schedule)},
                        {"law", std::string(options.law->name)}});
}

}  // namespace

Target fuzz_target() { return {"schedule", subjects, run, minimise_schedule, problem_of_kernel}; }

}  // namespace flashproof
