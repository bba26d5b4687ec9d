// Native math: kernels compiled with the GPU's own approximations, judged by bounds that come from that GPU's profile.
#pragma once

#include <filesystem>
#include <string>

#include "reference/bound/profile.h"
#include "reports/run/plan.h"

namespace flashproof {

/// `--math` and `--profile` against `--exec`. Throws UsageError for a word that is none, native math without
/// `--exec cuda`, a profile without native math.
void check_math(const std::string& math, const std::string& profile_file, const std::string& executor);

/// The kernel as compiled with native math: its launch, and what it declares on the profile's GPU. `det` must have one.
Kernel native_kernel(const Kernel& det, const Profile& profile);

/// Replaces (`native`) or joins (`all`) the plan's kernels by their native forms; `det` does nothing. The profile is
/// `profile_file`, else that of the GPU in use among the shipped ones. Returns its name, empty for det. Throws UsageError
/// if it is of another GPU, or if no kernel of the plan has a native form.
std::string choose_math(Plan& plan, const std::string& math, const std::string& profile_file);

/// The same with the GPU and the profile given.
void add_native(Plan& plan, const Profile& profile, bool keep_det);

/// Asked in a child process (gpu_server.h).
Gpu gpu_elsewhere();

/// reference/bound/profiles of the checkout that this program lies in; empty outside one.
std::filesystem::path shipped_profiles();

}  // namespace flashproof
