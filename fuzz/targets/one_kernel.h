// What the targets share that run one kernel.
#pragma once

#include <functional>

#include "fuzz/targets/target.h"
#include "kernels/registry.h"

namespace flashproof {

/// Every kernel of this problem in every format, in registry order.
std::vector<TargetSubject> subjects_of(ProblemKind problem);
/// Throws std::logic_error for an id that is no kernel.
const Kernel& kernel_of(std::string_view id);
ProblemKind problem_of_kernel(const TargetSubject& subject);

/// The case of an input that is in_format(). Throws UsageError: what the family refuses, data in another format, and cases
/// above kMostWork.
Case subject_case(const TargetSubject& subject, const FuzzInput& input);
Scored scored(Score score, const Case& c, const FuzzInput& input);

/// Under the law that the input names, of all relating ones; of a gradient under every one (score.h).
Scored run_input(const TargetSubject& subject, const FuzzInput& input, Executor executor);

/// As Target::run_batch; a law that an input names is not asked.
ScoredBatch run_inputs(const TargetSubject& subject, std::span<const FuzzInput> inputs, const BatchOptions& options);

/// As Target::minimise, with any scorer of cases. `notes`: of the witness, beside the defect's own.
struct MinimiseTask {
  const TargetSubject& subject;
  const FuzzInput& input;
  const Defect& defect;
  int tries;
  const std::function<bool()>& stop;
};
Minimised minimise_with(const MinimiseTask& task, const std::function<Score(const Case&)>& score_case,
                        WitnessNotes notes);
Minimised minimise_run(const TargetSubject& subject, const FuzzInput& input, Executor executor, const Defect& defect,
                       int tries, const std::function<bool()>& stop);

}  // namespace flashproof
