// A launch of a map, for one call: its sizes, the bytes of its parameters, the memory that it may touch.
#pragma once

#include <span>
#include <vector>

#include "kernels/plugin.h"
#include "kernels/ptx/map/map.h"
#include "kernels/ptx/run/launch.h"

namespace flashproof::ptx {

inline constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 32;  // of a call, as plugin.h has it
inline constexpr std::int64_t kScratchAlign = 256;                       // as of what cudaMalloc returns

/// Where each scratch memory begins in the workspace of a call, and at the end of the list how large that is. Throws UsageError.
std::vector<std::int64_t> scratch_offsets(const Map& map, const flashproof_call& call);

struct BoundLaunch {
  Launch launch;
  std::vector<std::byte> parameters;
  std::vector<Array> arrays;

  /// `scratch`: scratch_offsets(). Throws UsageError that names what of the launch is wrong for this call.
  BoundLaunch(const Map& map, const MappedLaunch& mapped, std::int64_t parameter_bytes,
              std::span<const std::int64_t> scratch, const flashproof_call& call);
  BoundLaunch(const BoundLaunch&) = delete;
  BoundLaunch& operator=(const BoundLaunch&) = delete;
};

}  // namespace flashproof::ptx
