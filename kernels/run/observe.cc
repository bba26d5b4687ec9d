#include "kernels/run/observe.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/broken/fault.h"
#include "kernels/declarations.h"  // generated: cpu_race_declarations()
#include "reference/system/error.h"

namespace flashproof {
namespace {

[[noreturn]] void not_built(std::string_view id) {
  throw UsageError("kernel " + std::string(id) + ": not built for the race shadow");
}

/// Of the kernel of this id among those that are built for the shadow.
Launch race_launch(const Kernel& kernel) {
  if (kernel.fault != nullptr) {
    const auto found = std::ranges::find(fault_races(), kernel.id, &FaultRace::id);
    if (found == fault_races().end()) not_built(kernel.id);
    return declaration_of(*kernel.fault, found->declared()).launch;
  }
  static const std::vector<KernelDeclaration> built = cpu_race_declarations();
  const auto found = std::ranges::find(built, kernel.id, &KernelDeclaration::id);
  if (found == built.end()) not_built(kernel.id);
  return found->launch;
}

}  // namespace

Observation observe(const Kernel& kernel, const Problem& problem, const ObserveOptions& options) {
  Kernel seen = kernel;
  seen.launch = race_launch(kernel);
  simt::ScopedShadow shadow({.races = options.races, .traffic = options.traffic});
  Output output =
      run(seen, problem,
          {.schedule = options.schedule, .shadow = &shadow, .matrix_unit = options.matrix_unit, .dose = options.dose});
  return {shadow.races(), shadow.race_count(), shadow.accesses(), shadow.traffic(), std::move(output)};
}

}  // namespace flashproof
