// Entries of a PTX file behind the C ABI of plugin.h, by a map: what judges a library of kernels judges them, and sees no difference.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "kernels/plugin.h"
#include "kernels/ptx/map/bound_launch.h"
#include "kernels/ptx/map/map.h"
#include "kernels/ptx/run/program.h"

namespace flashproof::ptx {

/// Of all threads of a launch. More is a finding that names the line; at the slowest it takes about as long as a call may.
inline constexpr std::int64_t kMaxCallInstructions = 10'000'000'000;

class MappedKernel {
 public:
  /// Compiles every entry that the map launches, once its expressions have been tried, and then tries the launches. Throws UsageError for a
  /// wrong map, a wrong description and an entry that cannot be executed here; InfrastructureError without libLLVM.
  MappedKernel(Map map, const Module& module);
  MappedKernel(const MappedKernel&) = delete;
  MappedKernel& operator=(const MappedKernel&) = delete;

  const flashproof_plugin& plugin() const { return plugin_; }
  /// The launches, one after another. Empty, or what the first one to fail has found. Of a kernel that is declared deterministic all of
  /// them once more, blocks and warps from the last to the first: that the outputs have the same bits.
  std::string run(const flashproof_call& call);
  std::int64_t scratch_bytes(const flashproof_call& call) const;

 private:
  void compile(const Module& module, const flashproof_call& trial);
  /// Empty, or what the first one to fail has found. last_first: Launch::last_first.
  std::string launch_all(std::deque<BoundLaunch>& bound, bool last_first);

  Map map_;
  std::string name_;                         // of the file
  std::map<std::string, Program> programs_;  // by entry
  std::shared_ptr<ModuleVariables> variables_;
  bool deterministic_ = false;  // as the map declares
  flashproof_kernel kernel_{};
  const flashproof_kernel* kernels_[1] = {&kernel_};
  flashproof_plugin plugin_{};
};

}  // namespace flashproof::ptx
