// A profile: what `flashproof probe` certified about the arithmetic of one GPU, and how a bound uses it.
//
// The kernels' deterministic math is the same on every machine and needs none: there, and on the CPU executor, the
// constants of kernels/simt/det_math/det_error.h are the profile. Native math (kernels/simt/math.h) is whatever the GPU does; its
// bounds take their errors from here. A profile is worth what the probe is worth: kernels/probe/README.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "reference/bound/backward/arithmetic.h"
#include "reference/bound/declare/arithmetic.h"

namespace flashproof {

/// Whose arithmetic it is. Another compute capability or another name is another GPU.
struct Gpu {
  std::string name;                // "NVIDIA H200"
  std::string compute_capability;  // "9.0"
  bool operator==(const Gpu&) const = default;
};

/// What one function did on every f32 of an interval (and on its negatives, if `mirrored`).
struct RegionFigure {
  std::string name;         // "normal results"
  float low = 0, high = 0;  // both included
  bool mirrored = false;
  bool relative = true;      // of the error: relative to the truth, or absolute
  std::uint64_t inputs = 0;  // patterns tried
  double error = 0;  // the largest, plus the error of the reference: an upper bound; inf: a result that is no number
  float worst = 0;   // where
  double bias = 0;   // mean signed error for arguments uniform in the interval
};

/// One function over all 2^32 patterns. Counts are of patterns, and 0 is what a kernel wants.
struct FunctionProfile {
  std::string name;  // as in kernels/probe/functions.h
  std::vector<RegionFigure> regions;
  std::uint64_t above_one = 0;      // exponentials: x <= 0 with a result above 1
  std::uint64_t falls = 0;          // neighbours x < y in the wrong order
  double largest_fall = 0;          // of those, relative
  std::uint64_t lost_nans = 0;      // NaN in, a number out
  std::uint64_t invented_nans = 0;  // a number in the domain in, NaN out
  bool exact_at_zero = false;       // exponentials: f(±0) = 1
  bool flushes_inputs = false;      // every subnormal argument counts as zero
  bool flushes_results = false;     // no subnormal result

  const RegionFigure* region(std::string_view region_name) const;
};

/// A question about a matrix unit that a constructed vector answers.
struct Answer {
  std::string question;  // "result rounded toward zero"
  bool yes = false;
  std::string figure;  // "1 + 15*2^-24 -> 1 + 14*2^-24"
};

/// One matrix instruction.
struct UnitProfile {
  std::string name;     // "mma.m16n8k16.f16"
  BlockFma block;       // k = 0: no block model fits (fp64: a chain of fma)
  bool c_last = false;  // the steps start from 0, and c is added to their result in f32, to nearest
  std::vector<Answer> answers;
  std::uint64_t random_steps = 0, random_mismatches = 0;  // bit for bit against the model
};

struct Profile {
  Gpu gpu;
  std::string driver, cuda, date, revision;
  std::vector<FunctionProfile> functions;
  std::vector<UnitProfile> units;

  const FunctionProfile* function(std::string_view name) const;
};

// The functions that native kernels call.
inline constexpr std::string_view kNativeExp2 = "ex2.approx.ftz.f32";
inline constexpr std::string_view kNativeLog = "lg2.approx.ftz.f32 * ln 2";
inline constexpr std::string_view kNativeReciprocal = "rcp.approx.ftz.f32";
inline constexpr std::string_view kNativeTanh = "tanh.approx.f32";
// The regions that their declared errors come from.
inline constexpr std::string_view kNormalResults = "normal results";
inline constexpr std::string_view kSubnormalResults = "subnormal results";
inline constexpr std::string_view kAwayFromOne = "(2, max]";
inline constexpr std::string_view kBelowOne = "[2^-126, 1/2)";
inline constexpr std::string_view kAroundOne = "[1/2, 2]";
inline constexpr std::string_view kEverywhere = "everywhere";

/// Schema flashproof.profile/1. Throws UsageError, naming the file and the field, for a file that is not one, that is
/// larger than 1 MiB, or whose figures are out of range; InfrastructureError if it cannot be read.
Profile load_profile(const std::filesystem::path& path);
std::string profile_json(const Profile& profile);

/// reference/bound/profiles of the checkout that this program lies in; empty outside one.
std::filesystem::path shipped_profiles();

/// The profile of `gpu` among the files *.json of a folder: the one with the latest date. Throws UsageError if none is.
Profile find_profile(const std::filesystem::path& folder, const Gpu& gpu);

/// The same of any GPU with this compute capability.
Profile find_profile_of_capability(const std::filesystem::path& folder, std::string_view compute_capability);

/// Throws UsageError if the profile is of another GPU.
void require_gpu(const Profile& profile, const Gpu& gpu);

/// What a kernel that declares `det` does when it is compiled with FP_NATIVE_MATH on that GPU: e^x becomes
/// exp2(fl(x·fl(log2 e))), the errors are the profile's, and subnormals are flushed. Throws UsageError if the profile
/// lacks a function, if a region's error is absolute where it must be relative or the reverse, or if one of them does not
/// keep what every declared exponential keeps (1 at 0, at most 1 below, the absolute error of a subnormal result).
Arithmetic with_profile(const Arithmetic& det, const Profile& profile);
BackwardArithmetic with_profile(const BackwardArithmetic& det, const Profile& profile);

}  // namespace flashproof
