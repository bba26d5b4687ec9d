#include "kernels/ptx/map/mapped_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>

#include "kernels/plugin/description.h"
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
  std::map<std::string, std::int64_t> by_axis;
  for (const auto& [key, size] : sizes(described.limits)) {
    const auto* const at = std::ranges::find(kKeys, key);
    by_axis[std::string(kAxes.at(static_cast<std::size_t>(at - kKeys.begin())))] = size;
  }
  return by_axis;
}

constexpr std::uint64_t kMostCompared = 64 << 20;  // bytes

/// What the launches of a call may write, and a copy of it.
class Written {
 public:
  Written(const std::deque<BoundLaunch>& bound, const ModuleVariables& variables) {
    for (const BoundLaunch& one : bound) {
      for (const Array& array : one.arrays) {
        const auto same = [&](const Array& other) { return other.data == array.data && other.bytes == array.bytes; };
        if (array.writable && array.bytes != 0 && std::ranges::none_of(arrays_, same)) arrays_.push_back(array);
      }
    }
    if (variables.bytes != 0) arrays_.push_back({variables.image.get(), variables.bytes, true, ""});
    for (const Array& array : arrays_) bytes_ += array.bytes;
  }
  std::uint64_t bytes() const { return bytes_; }
  void keep() {
    for (const Array& array : arrays_) {
      const auto* const data = static_cast<const std::byte*>(array.data);
      copies_.emplace_back(data, data + array.bytes);
    }
  }
  /// What is there against the copy.
  void exchange() {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      std::swap_ranges(copies_[i].begin(), copies_[i].end(), static_cast<std::byte*>(arrays_[i].data));
  }
  /// "o from byte 8 on"; of outputs alone: what scratch memory holds is the kernel's own affair.
  std::string first_difference(const Map& map) const {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const bool is_scratch = std::ranges::find(map.scratch, arrays_[i].name, &Scratch::name) != map.scratch.end();
      if (arrays_[i].name.empty() || is_scratch) continue;
      const auto* const now = static_cast<const std::byte*>(arrays_[i].data);
      const auto [copy, there] = std::mismatch(copies_[i].begin(), copies_[i].end(), now);
      if (copy != copies_[i].end())
        return fmt::format("{} from byte {} on", arrays_[i].name, copy - copies_[i].begin());
    }
    return {};
  }

 private:
  std::vector<Array> arrays_;
  std::vector<std::vector<std::byte>> copies_;
  std::uint64_t bytes_ = 0;
};

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
    deterministic_ = described.contract.deterministic;
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
  variables_ = std::make_shared<ModuleVariables>(module);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const MappedLaunch& one = map_.launches[i];
    const Program& program =
        programs_.try_emplace(one.entry, module, one.entry, ProgramOptions{}, variables_).first->second;
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
  std::deque<BoundLaunch> bound;
  std::string place;
  try {
    const std::vector<std::int64_t> scratch = scratch_offsets(map_, call);
    for (const MappedLaunch& one : map_.launches) {
      place = one.place + ": ";
      bound.emplace_back(map_, one, programs_.at(one.entry).entry().parameter_bytes, scratch, call);
    }
  } catch (const UsageError& e) {
    return fmt::format("{}: {}{}", map_.file, place, e.what());
  }
  Written memory(bound, *variables_);
  if (!deterministic_ || memory.bytes() > kMostCompared) return launch_all(bound, false);
  memory.keep();
  std::string why = launch_all(bound, false);
  if (!why.empty()) return why;
  memory.exchange();
  why = launch_all(bound, true);
  const std::string differs = why.empty() ? memory.first_difference(map_) : "";
  memory.exchange();
  if (!why.empty()) return "blocks and warps in the order from the last to the first: " + why;
  return differs.empty() ? ""
                         : "it is declared deterministic, and blocks and warps in the order from the last to the first "
                           "give other bits: " +
                               differs;
}

std::string MappedKernel::launch_all(std::deque<BoundLaunch>& bound, bool last_first) {
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const MappedLaunch& one = map_.launches[i];
    try {
      bound[i].launch.max_instructions = kMaxCallInstructions;
      bound[i].launch.last_first = last_first;
      const LaunchResult result = programs_.at(one.entry).launch(bound[i].launch);
      if (!last_first) std::fwrite(result.printed.data(), 1, result.printed.size(), stderr);
      if (!result.findings.empty()) return (bound.size() > 1 ? one.place + ": " : "") + text_of(result.findings);
    } catch (const UsageError& e) {
      return fmt::format("{}: {}: {}", map_.file, one.place, e.what());
    }
  }
  return {};
}

}  // namespace flashproof::ptx
