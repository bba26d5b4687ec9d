// Two hardened kernels of one problem on one case: each is within its own bound of the exact result, so they are within
// both of each other. Asks no truth.
#include "fuzz/targets/one_kernel.h"

namespace flashproof {
namespace {

struct Pair {
  const Kernel& first;
  const Kernel& second;
};

Pair pair_of(const TargetSubject& subject) {
  const std::size_t bar = subject.kernel.find('|');
  return {kernel_of(subject.kernel.substr(0, bar)), kernel_of(subject.kernel.substr(bar + 1))};
}

/// Every hardened kernel beside the next one of its problem that has the format: a chain, so that a kernel that differs from
/// the rest differs from its neighbours.
std::vector<TargetSubject> subjects() {
  std::vector<TargetSubject> list;
  for (const ProblemKind problem : {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention}) {
    for (const Format format : kStorageFormats) {
      const Kernel* last = nullptr;
      for (const Kernel& kernel : kernels()) {
        if (kernel.problem != problem || kernel.form != Form::hardened || !kernel.supports(format)) continue;
        if (last != nullptr) list.push_back({std::string(last->id) + "|" + std::string(kernel.id), "hardened", format});
        last = &kernel;
      }
    }
  }
  return list;
}

ProblemKind problem(const TargetSubject& subject) { return pair_of(subject).first.problem; }

/// Of the first kernel's problem, which is the second's.
TargetSubject first_of(const TargetSubject& subject) {
  return {std::string(pair_of(subject).first.id), subject.form, subject.format};
}

Scored run(const TargetSubject& subject, const FuzzInput& input, Executor executor) {
  const Pair pair = pair_of(subject);
  const Case c = subject_case(first_of(subject), input);
  return scored(score_pair(pair.first, pair.second, c, run_options(input, executor)), c, input);
}

Minimised minimise_pair(const TargetSubject& subject, const FuzzInput& input, Executor executor, const Defect& defect,
                        int tries, const std::function<bool()>& stop) {
  const Pair pair = pair_of(subject);
  const RunOptions options = run_options(input, executor);
  const TargetSubject first = first_of(subject);
  return minimise_with({first, input, defect, tries, stop},
                       [&](const Case& c) { return score_pair(pair.first, pair.second, c, options); },
                       {{"kernel", std::string(pair.first.id)},
                        {"against", std::string(pair.second.id)},
                        {"executor", std::string(name(executor))},
                        {"math", "det"},
                        {"schedule", to_string(options.schedule)}});
}

}  // namespace

Target fuzz_target() { return {"differential", subjects, run, minimise_pair, problem}; }

}  // namespace flashproof
