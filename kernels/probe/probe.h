// `flashproof probe`: certifies the arithmetic of the GPU it runs on (README.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/probe/functions.h"
#include "kernels/probe/tally.h"
#include "kernels/probe/units.h"
#include "reference/bound/profile.h"

namespace flashproof::probe {

/// The first CUDA device. Throws InfrastructureError without one, or in a build without CUDA.
Gpu this_gpu();

// On that device. All 2^32 patterns; the steps of units.h.
ProbeCounts sweep_on_device(const Function& function);
std::vector<StepResult> run_steps_on_device(const Unit& unit, std::span<const Step> steps);

/// A tally's figures under their names.
FunctionProfile figures(const Function& function, const ProbeCounts& tally);

struct ProbeResult {
  Profile profile;  // gpu, functions and units; the caller adds where and when
  std::vector<std::string>
      complaints;  // what does not hold: the self-check, or a unit that its model does not describe
};

/// Everything. `progress` is called before each function or unit.
ProbeResult probe_gpu(const std::function<void(const std::string& what)>& progress = {});

/// The profile as Markdown.
std::string profile_table(const Profile& profile);

}  // namespace flashproof::probe
