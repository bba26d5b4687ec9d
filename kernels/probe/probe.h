// `flashproof probe`: certifies the arithmetic of the GPU it runs on (README.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/probe/functions.h"
#include "kernels/probe/tally.h"
#include "kernels/probe/units.h"
#include "kernels/special_functions/device.h"
#include "reference/bound/declare/profile.h"

namespace flashproof::probe {

/// The first CUDA device. Throws InfrastructureError without one, or in a build without CUDA.
Gpu this_gpu();

// On that device. All 2^32 patterns; the steps of units.h.
ProbeCounts sweep_on_device(const Function& function);
std::vector<StepResult> run_steps_on_device(const Unit& unit, std::span<const Step> steps);

/// A tally's figures under their names.
FunctionProfile figures(const Function& function, const ProbeCounts& tally);

/// One approximate instruction against the model of it.
struct SpecialVerdict {
  std::string instruction;
  special::Comparison comparison;
};

struct ProbeResult {
  Profile profile;  // gpu, functions and units; the caller adds where and when
  std::vector<SpecialVerdict> special;
  std::vector<std::string>
      complaints;  // what does not hold: the self-check, or a unit that its model does not describe
};

/// Everything. `progress` is called before each function or unit.
ProbeResult probe_gpu(const std::function<void(const std::string& what)>& progress = {});

/// The profile as Markdown.
std::string profile_table(const Profile& profile);
/// Whether native math has the same bits on this GPU and on the CPU executor, as Markdown.
std::string special_table(const Gpu& gpu, const std::vector<SpecialVerdict>& verdicts);
/// What contradicts the model of the GPU's capability; nothing where there is none, since nothing is claimed.
std::vector<std::string> special_complaints(const Gpu& gpu, const std::vector<SpecialVerdict>& verdicts);

}  // namespace flashproof::probe
