// The host's side of the tiled backward attention kernels (tile.h): how many blocks, which instance, the shapes that are
// refused, the declaration.
//
//   grid       a block per tile of 16 queries or keys
//   instances  1, 4 or 8 groups of 32 columns, enough for d and dv; per storage format
//   refused    d, dv > 256 (shared memory), Hq, B > 65535 (grid)
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/attention_backward/tile.h"
#include "kernels/refusal.h"
#include "kernels/registry.h"
#include "kernels/simt/det_math/det_error.h"

namespace flashproof::FP_EXECUTOR::backward {

inline unsigned tiles_of(std::int64_t rows) { return static_cast<unsigned>((rows + kTile - 1) / kTile); }

/// Calls launcher.operator()<F, kGroups>() with enough groups of 32 columns for both widths.
template <class Launcher>
void dispatch_backward(const AttentionArgs& a, Launcher launcher) {
  const int widest = std::max(a.head_dim, a.value_dim);
  dispatch_format(a.format, [&]<Format F>() {
    if (widest <= kGroupColumns) {
      launcher.template operator()<F, 1>();
    } else if (widest <= kFewColumns) {
      launcher.template operator()<F, kFewColumns / kGroupColumns>();
    } else {
      launcher.template operator()<F, kMaxDim / kGroupColumns>();
    }
  });
}

inline std::string tile_unsupported(const Problem& problem) {
  const AttentionProblem& p = std::get<BackwardProblem>(problem).forward;
  const struct {
    const char* name;
    std::int64_t value, most;
  } limits[] = {{"d", p.head_dim(), kMaxDim},
                {"dv", p.value_dim(), kMaxDim},
                {"Hq", p.q_heads(), 65535},
                {"B", p.batch(), 65535}};
  for (const auto& [name, value, most] : limits) {
    if (value > most) {
      return beyond_range(name, value, most);
    }
  }
  return {};
}

/// Of both loops; what the variants change is in their declarations.
inline constexpr BackwardArithmetic kTileArithmetic = {.exp_error = kDetExpError,
                                                       .dot = {.chains = 4},
                                                       .products = {.chains = 4},
                                                       .row_sum = {.chains = kRowLanes},
                                                       .scale = GradientScale::output};

}  // namespace flashproof::FP_EXECUTOR::backward
