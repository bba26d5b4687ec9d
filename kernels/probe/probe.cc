#include "kernels/probe/probe.h"

#include <fmt/format.h>

#include <bit>

namespace flashproof::probe {
namespace {

constexpr int kRandomSteps = 200'000;
constexpr std::uint64_t kSeed = 20261120;
constexpr std::uint64_t kSubnormalsOfOneSign = (1U << 23) - 1;

/// A deterministic function's figure is known: MPFR measured it on a CPU. The device's must be the same.
void check_itself(const Function& function, const FunctionProfile& profile, std::vector<std::string>& complaints) {
  if (function.self_check == 0) return;
  const double error = profile.regions.at(0).error;
  constexpr double kReference = 2 * kTruthError;
  if (error > function.self_check + kReference || error < 0.999 * function.self_check) {
    complaints.push_back(fmt::format("{}: the probe measures {:.4g}, a CPU with MPFR {:.4g}: the probe is wrong here",
                                     function.name, error, function.self_check));
  }
}

/// On a GPU without a model the one that there is, for what it is worth.
template <class Tell>
std::vector<SpecialVerdict> compare_special(const Gpu& gpu, const Tell& tell) {
  const special::Tables* tables = special::tables_of(gpu.compute_capability);
  if (tables == nullptr) tables = special::tables_of(special::kModelled);
  std::vector<SpecialVerdict> verdicts;
  for (const special::Instruction& instruction : special::kInstructions) {
    if (!special::on_device(instruction)) continue;
    tell(instruction.name);
    verdicts.push_back({std::string(instruction.name), special::compare_on_device(instruction, *tables)});
  }
  return verdicts;
}

}  // namespace

FunctionProfile figures(const Function& function, const ProbeCounts& tally) {
  FunctionProfile profile;
  profile.name = function.name;
  for (std::size_t i = 0; i < function.regions.size(); ++i) {
    const Region& region = function.regions[i];
    const RegionTally& t = tally.region[i];
    profile.regions.push_back({.name = std::string(region.name),
                               .low = region.low,
                               .high = region.high,
                               .mirrored = region.mirrored,
                               .relative = region.relative,
                               .inputs = t.inputs,
                               .error = t.error,
                               .worst = std::bit_cast<float>(t.worst),
                               .bias = t.weight > 0 ? t.signed_sum / t.weight : 0});
  }
  const bool log = is_logarithm(function.truth);
  const bool exponential = is_exponential(function.truth);
  profile.above_one = tally.above_one;
  profile.falls = tally.falls;
  profile.largest_fall = tally.largest_fall;
  profile.lost_nans = tally.lost_nans;
  profile.invented_nans = tally.invented_nans;
  profile.exact_at_zero = exponential && tally.zeros_not_one == 0;
  profile.flushes_inputs = !exponential && tally.subnormal_inputs == 0;
  profile.flushes_results = !log && tally.subnormal_results == 0;
  return profile;
}

ProbeResult probe_gpu(const std::function<void(const std::string& what)>& progress) {
  const auto tell = [&](std::string_view what) {
    if (progress) progress(std::string(what));
  };
  ProbeResult result;
  result.profile.gpu = this_gpu();
  for (const Function& function : functions()) {
    tell(function.name);
    result.profile.functions.push_back(figures(function, sweep_on_device(function)));
    check_itself(function, result.profile.functions.back(), result.complaints);
  }
  result.special = compare_special(result.profile.gpu, tell);
  for (std::string& complaint : special_complaints(result.profile.gpu, result.special)) {
    result.complaints.push_back(std::move(complaint));
  }
  for (const Unit& unit : kUnits) {
    tell(unit.name);
    UnitVerdict verdict = probe_unit(unit, run_steps_on_device, kSeed, kRandomSteps);
    if (!verdict.present) continue;
    if (verdict.profile.random_mismatches > 0) {
      result.complaints.push_back(fmt::format("{}: {} of {} random steps differ from the model", unit.name,
                                              verdict.profile.random_mismatches, verdict.profile.random_steps));
    }
    result.profile.units.push_back(std::move(verdict.profile));
  }
  return result;
}

}  // namespace flashproof::probe
