// Native math: kernels with a GPU's own approximations, on that GPU or on the CPU executor with the same bits
// (kernels/special_functions), judged by bounds that come from a GPU's profile.
#pragma once

#include <string>

#include "reference/bound/declare/profile.h"
#include "reports/run/plan.h"

namespace flashproof {

/// Throws UsageError for a word that is none, and for a profile without native math.
void check_math(const std::string& math, const std::string& profile_file);

/// Replaces (`native`) or joins (`all`) the plan's kernels by their native forms; `det` does nothing. The profile is
/// `profile_file`, else a shipped one: of the GPU in use, or, on the CPU executor alone, of the capability whose bits
/// it has. Returns its name, empty for det. Throws UsageError if it is of another GPU or capability, or if no kernel of the
/// plan has a native form on the plan's executors.
std::string choose_math(Plan& plan, const std::string& math, const std::string& profile_file);

/// The same with the profile given.
void add_native(Plan& plan, const Profile& profile, bool keep_det);

/// The same for a comparison of bits, which no bound judges. Throws UsageError if the GPU's capability has no model.
void add_native_bits(Plan& plan, const Gpu& gpu, bool keep_det);

/// Asked in a child process (gpu_server.h).
Gpu gpu_elsewhere();

}  // namespace flashproof
