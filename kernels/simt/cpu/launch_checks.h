// What is refused before a launch: sizes that a Hopper GPU would refuse, and a floating-point state that gives other
// numbers than the GPU's.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/simt/cpu/cpu_launch.h"

namespace flashproof::simt {

inline constexpr std::size_t kMaxDynamicSharedBytes = 232448;  // 227 KiB, compute capability 9.0
inline constexpr std::size_t kMaxStaticSharedBytes = 48 * 1024;

/// Throws Fault (bad_launch) with the place of the launch.
[[noreturn]] void refuse_launch(const Grid& grid, const std::string& what);
void check_launch(const Grid& grid, dim3 block, std::size_t dynamic_shared_bytes);

/// Throws InfrastructureError unless MXCSR rounds to nearest and keeps subnormals.
void check_rounding(unsigned mxcsr);

}  // namespace flashproof::simt
