#include "reference/bound/declare/profile.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {

namespace fs = std::filesystem;

namespace {

std::string describe(const Gpu& gpu) { return quote(gpu.name) + ", compute capability " + gpu.compute_capability; }

const FunctionProfile& need(const Profile& profile, std::string_view name) {
  const FunctionProfile* function = profile.function(name);
  if (function == nullptr) throw UsageError("profile: no function " + quote(name) + ", which native kernels call");
  return *function;
}

enum class Kind : std::uint8_t { relative, absolute };

/// The certified error; refused where it says nothing, or is not of this kind.
double error_of(const FunctionProfile& function, std::string_view region_name, Kind kind) {
  const RegionFigure* region = function.region(region_name);
  if (region == nullptr) {
    throw UsageError("profile: " + quote(function.name) + " has no region " + quote(region_name));
  }
  if (region->relative != (kind == Kind::relative)) {
    throw UsageError("profile: " + quote(function.name) + ", region " + quote(region_name) + ": the error is " +
                     (region->relative ? "relative, legal: absolute" : "absolute, legal: relative"));
  }
  if (!(region->error < 0.5)) {
    throw UsageError("profile: " + quote(function.name) + ", region " + quote(region_name) +
                     ": the error is no bound, legal range [0, 1/2)");
  }
  return region->error;
}

}  // namespace

const RegionFigure* FunctionProfile::region(std::string_view region_name) const {
  const auto at = std::ranges::find(regions, region_name, &RegionFigure::name);
  return at == regions.end() ? nullptr : &*at;
}

const FunctionProfile* Profile::function(std::string_view wanted) const {
  const auto at = std::ranges::find(functions, wanted, &FunctionProfile::name);
  return at == functions.end() ? nullptr : &*at;
}

fs::path shipped_profiles() {
  std::error_code error;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(); !error && !folder.empty();
       folder = folder.parent_path()) {
    const fs::path profiles = folder / "reference" / "bound" / "profiles";
    if (fs::is_directory(profiles, error)) return profiles;
    error.clear();
    if (folder == folder.parent_path()) break;
  }
  return {};
}

void require_gpu(const Profile& profile, const Gpu& gpu) {
  if (profile.gpu == gpu) return;
  throw UsageError("profile of " + describe(profile.gpu) + ": this GPU is " + describe(gpu) +
                   "; `flashproof probe --out FILE` makes its own");
}

namespace {

template <class Wanted>
Profile latest_profile(const fs::path& folder, const std::string& of, Wanted wanted) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json") files.push_back(at->path());
  }
  std::ranges::sort(files);
  std::optional<Profile> best;
  for (const fs::path& file : files) {
    Profile profile = load_profile(file);
    if (wanted(profile.gpu) && (!best || best->date <= profile.date)) best = std::move(profile);
  }
  if (!best) {
    throw UsageError("no profile of " + of + "; `flashproof probe --out FILE` makes one, --profile FILE uses it");
  }
  return *best;
}

}  // namespace

Profile find_profile(const fs::path& folder, const Gpu& gpu) {
  return latest_profile(folder, describe(gpu), [&](const Gpu& other) { return other == gpu; });
}

Profile find_profile_of_capability(const fs::path& folder, std::string_view compute_capability) {
  return latest_profile(folder, "compute capability " + std::string(compute_capability),
                        [&](const Gpu& gpu) { return gpu.compute_capability == compute_capability; });
}

namespace {

/// The relative error of normal results, after everything else that every declared exponential keeps has been checked.
double exponential_error(const FunctionProfile& exp2, double underflow) {
  if (!exp2.exact_at_zero || exp2.above_one != 0 || exp2.lost_nans != 0 || exp2.invented_nans != 0) {
    throw UsageError(
        "profile: " + quote(exp2.name) +
        " is not 1 at 0, or above 1 below 0, or loses or invents NaN: no bound covers such an exponential");
  }
  if (const double lost = error_of(exp2, kSubnormalResults, Kind::absolute); lost > underflow) {
    throw UsageError("profile: " + quote(exp2.name) + " errs by more than 2^-126 where the result is subnormal");
  }
  return error_of(exp2, kNormalResults, Kind::relative);
}

}  // namespace

Arithmetic with_profile(const Arithmetic& det, const Profile& profile) {
  const FunctionProfile& log = need(profile, kNativeLog);
  Arithmetic native = det;
  native.underflow = Underflow::flush;
  native.exp_error = exponential_error(need(profile, kNativeExp2), exp_underflow(native));
  if (det.exponent == Exponent::accurate) native.exponent = Exponent::scaled_exp2;
  native.log_error = std::max(error_of(log, kAwayFromOne, Kind::relative), error_of(log, kBelowOne, Kind::relative));
  native.log_absolute = error_of(log, kAroundOne, Kind::absolute);
  if (det.ending == Ending::multiply_reciprocal) {
    native.reciprocal_error = error_of(need(profile, kNativeReciprocal), kNormalResults, Kind::relative);
  }
  if (det.tanh_error > 0) native.tanh_error = error_of(need(profile, kNativeTanh), kEverywhere, Kind::absolute);
  return native;
}

BackwardArithmetic with_profile(const BackwardArithmetic& det, const Profile& profile) {
  BackwardArithmetic native = det;
  native.underflow = Underflow::flush;
  native.exp_error = exponential_error(need(profile, kNativeExp2), 0x1p-126);
  if (det.exponent == Exponent::accurate) native.exponent = Exponent::scaled_exp2;
  return native;
}

}  // namespace flashproof
