// What the targets of the forward problems share.
#pragma once

#include <functional>

#include "fuzz/targets/target.h"
#include "kernels/registry.h"

namespace flashproof {

/// Every kernel of this problem in every format, in registry order.
std::vector<TargetSubject> forward_subjects(ProblemKind problem);
/// Throws std::logic_error for an id that is no kernel.
const Kernel& kernel_of(std::string_view id);
ProblemKind problem_of_kernel(const TargetSubject& subject);

/// The case of an input that is in_format(). Throws UsageError: what the family refuses, data in another format, and cases
/// above kMostWork.
Case forward_case(const TargetSubject& subject, const FuzzInput& input);
Scored scored(Score score, const Case& c, const FuzzInput& input);

/// Under the law that the input names, of all relating ones.
Scored run_forward(const TargetSubject& subject, const FuzzInput& input, Executor executor);

/// As Target::run_batch; a law that an input names is not asked.
ScoredBatch run_forward_batch(const TargetSubject& subject, std::span<const FuzzInput> inputs,
                              const BatchOptions& options);

/// As Target::minimise, with any scorer of forward cases. `notes`: of the witness, beside the defect's own.
struct MinimiseTask {
  const TargetSubject& subject;
  const FuzzInput& input;
  const Defect& defect;
  int tries;
  const std::function<bool()>& stop;
};
Minimised minimise_forward(const MinimiseTask& task, const std::function<Score(const Case&)>& score_case,
                           WitnessNotes notes);
Minimised minimise_run(const TargetSubject& subject, const FuzzInput& input, Executor executor, const Defect& defect,
                       int tries, const std::function<bool()>& stop);

}  // namespace flashproof
