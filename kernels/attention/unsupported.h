// The shapes that the tiled attention kernels refuse before a launch, each with its legal range. Features beyond the
// plain form are refused for every kernel in kernels/refusal.h.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/attention/tile.h"

namespace flashproof::FP_EXECUTOR {

inline std::string tile_unsupported(const Problem& problem) {
  const auto& p = std::get<AttentionProblem>(problem);
  const auto range = [](const char* what, std::int64_t value, std::int64_t most) {
    return std::string(what) + " = " + std::to_string(value) + ": legal range 1.." + std::to_string(most);
  };
  if (p.head_dim() > kMaxDim) {
    return range("d", p.head_dim(), kMaxDim);
  }
  if (p.value_dim() > kMaxDim) {
    return range("dv", p.value_dim(), kMaxDim);
  }
  if (p.q_heads() > 65535) {
    return range("Hq", p.q_heads(), 65535);
  }
  if (p.batch() > 65535) {
    return range("B", p.batch(), 65535);
  }
  std::int64_t chunk = 0;
  for (int c = 0; c < p.plan.chunks(); ++c) {
    chunk = std::max<std::int64_t>(chunk, p.plan.boundary[c + 1] - p.plan.boundary[c]);
  }
  const int d = static_cast<int>(p.head_dim());
  const int dv = static_cast<int>(p.value_dim());
  if (tile_bytes(chunk, d, dv) > kSharedLimit) {
    const std::int64_t per_key = tile_bytes(1, d, dv) - tile_bytes(0, d, dv);
    return range("chunk", chunk, (kSharedLimit - tile_bytes(0, d, dv)) / per_key) +
           " keys at d = " + std::to_string(d) + ", dv = " + std::to_string(dv) + " (shared memory)";
  }
  return {};
}

}  // namespace flashproof::FP_EXECUTOR
