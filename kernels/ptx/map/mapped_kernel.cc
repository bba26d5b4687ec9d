#include "kernels/ptx/map/mapped_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>

#include "kernels/plugin/description.h"
#include "kernels/plugin/takes.h"
#include "kernels/ptx/map/bound_launch.h"
#include "kernels/ptx/map/trial.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

std::int32_t run_mapped(const flashproof_call* call) {
  std::string why;
  try {
    why = static_cast<MappedKernel*>(call->kernel->user)->run(*call);
  } catch (const std::exception& e) {
    why = e.what();
  }
  if (why.empty()) return FLASHPROOF_OK;
  const std::size_t length = std::min<std::size_t>(why.size(), call->error_size - 1);
  std::memcpy(call->error, why.data(), length);
  call->error[length] = '\0';
  return FLASHPROOF_ERROR;
}

/// 0 where the map says no size: run() tells why.
std::int64_t scratch_of(const flashproof_call* call) {
  try {
    return static_cast<MappedKernel*>(call->kernel->user)->scratch_bytes(*call);
  } catch (const std::exception&) {
    return 0;
  }
}

/// The first finding, and where others are.
std::string text_of(const std::vector<Finding>& findings) {
  std::string text = findings.front().text;
  for (std::size_t i = 1; i < findings.size(); ++i) {
    text += fmt::format("{}{}", i == 1 ? "; and in line " : ", ", findings[i].line);
  }
  return text;
}

/// Sizes within the limits, by axis.
std::map<std::string, std::int64_t> trial_sizes(const Described& described) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [key, size] : described.sizes) {
    const auto* const at = std::ranges::find(kKeys, key);
    sizes[std::string(kAxes.at(static_cast<std::size_t>(at - kKeys.begin())))] = size;
  }
  return sizes;
}

}  // namespace

MappedKernel::MappedKernel(Map map, const Module& module) : map_(std::move(map)), name_(module.file) {
  kernel_ = {sizeof kernel_,
             map_.id.c_str(),
             map_.problem,
             FLASHPROOF_CPU,
             map_.description.c_str(),
             run_mapped,
             map_.scratch.empty() ? nullptr : scratch_of,
             this};
  plugin_ = {FLASHPROOF_PLUGIN_ABI, 0, sizeof plugin_, name_.c_str(), "", 1, kernels_};
  std::map<std::string, std::int64_t> sizes;
  try {
    const Described described =
        describe({map_.id, map_.problem, FLASHPROOF_CPU, map_.description, !map_.scratch.empty()});
    if (described.formats.size() != 1) throw UsageError("formats: legal: one, as an entry takes one");
    sizes = trial_sizes(described);
  } catch (const UsageError& e) {
    throw UsageError(map_.file + ": beside id, scratch and launch: " + e.what());
  }
  compile(module, TrialCall(map_.problem, sizes).call());
}

void MappedKernel::compile(const Module& module, const flashproof_call& trial) {
  std::deque<BoundLaunch> bound;
  std::string place;
  try {
    const std::vector<std::int64_t> scratch = scratch_offsets(map_, trial);
    for (const MappedLaunch& one : map_.launches) {
      place = one.place + ": ";
      bound.emplace_back(map_, one, find_entry(module, one.entry).parameter_bytes, scratch, trial);
    }
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}{}", map_.file, place, e.what()));
  }
  const auto variables = std::make_shared<ModuleVariables>(module);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const MappedLaunch& one = map_.launches[i];
    const Program& program =
        programs_.try_emplace(one.entry, module, one.entry, ProgramOptions{}, variables).first->second;
    try {
      program.check(bound[i].launch);
    } catch (const UsageError& e) {
      throw UsageError(fmt::format("{}: {}: {}", map_.file, one.place, e.what()));
    }
  }
}

std::int64_t MappedKernel::scratch_bytes(const flashproof_call& call) const {
  return scratch_offsets(map_, call).back();
}

std::string MappedKernel::run(const flashproof_call& call) {
  std::vector<std::int64_t> scratch;
  try {
    scratch = scratch_offsets(map_, call);
  } catch (const UsageError& e) {
    return fmt::format("{}: {}", map_.file, e.what());
  }
  for (const MappedLaunch& one : map_.launches) {
    const std::string place = map_.launches.size() > 1 ? one.place + ": " : "";
    Program& program = programs_.at(one.entry);
    try {
      BoundLaunch bound(map_, one, program.entry().parameter_bytes, scratch, call);
      bound.launch.max_instructions = kMaxCallInstructions;
      const LaunchResult result = program.launch(bound.launch);
      if (!result.findings.empty()) return place + text_of(result.findings);
    } catch (const UsageError& e) {
      return fmt::format("{}: {}: {}", map_.file, one.place, e.what());
    }
  }
  return {};
}

}  // namespace flashproof::ptx
