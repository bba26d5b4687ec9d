#include "kernels/observe.h"

#include <algorithm>
#include <string>

#include "kernels/backward_declarations.h"  // generated: cpu_race_backward_declarations()
#include "kernels/broken/fault.h"
#include "kernels/declarations.h"  // generated: cpu_race_declarations()
#include "kernels/run.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

/// Of the kernel of this id among those that are built for the shadow.
template <class Declaration>
auto race_launch(const std::vector<Declaration>& list, std::string_view id) {
  const auto found = std::ranges::find(list, id, &Declaration::id);
  if (found == list.end()) throw UsageError("kernel " + std::string(id) + ": not built for the race shadow");
  return found->launch;
}

/// Of a seeded fault.
template <class Declaration>
auto fault_launch(const SeededFault& fault, std::span<const Declaration> (*FaultRace::*declared)()) {
  const auto found = std::ranges::find(fault_races(), fault.id, &FaultRace::id);
  if (found == fault_races().end()) {
    throw UsageError("kernel " + std::string(fault.id) + ": not built for the race shadow");
  }
  return declaration_of(fault, ((*found).*declared)()).launch;
}

template <class AnyKernel, class AnyProblem>
auto run_seen(const AnyKernel& kernel, const AnyProblem& problem, const ObserveOptions& options, ShadowReport& report) {
  simt::ScopedShadow shadow({.races = options.races, .traffic = options.traffic});
  auto result =
      run(kernel, problem,
          {.schedule = options.schedule, .shadow = &shadow, .matrix_unit = options.matrix_unit, .dose = options.dose});
  report = {shadow.races(), shadow.race_count(), shadow.accesses(), shadow.traffic()};
  return result;
}

}  // namespace

Observation observe(const Kernel& kernel, const Problem& problem, const ObserveOptions& options) {
  static const std::vector<KernelDeclaration> built = cpu_race_declarations();
  Kernel seen = kernel;
  seen.launch =
      kernel.fault != nullptr ? fault_launch(*kernel.fault, &FaultRace::forward) : race_launch(built, kernel.id);
  Observation observation;
  observation.output = run_seen(seen, problem, options, observation);
  return observation;
}

GradientObservation observe(const BackwardKernel& kernel, const BackwardProblem& problem,
                            const ObserveOptions& options) {
  static const std::vector<BackwardDeclaration> built = cpu_race_backward_declarations();
  BackwardKernel seen = kernel;
  seen.launch =
      kernel.fault != nullptr ? fault_launch(*kernel.fault, &FaultRace::backward) : race_launch(built, kernel.id);
  GradientObservation observation;
  observation.gradients = run_seen(seen, problem, options, observation);
  return observation;
}

}  // namespace flashproof
