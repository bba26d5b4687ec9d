// The shapes that the tiled attention kernels refuse before a launch, each with its legal range, and the features that
// they take. Other features are refused for every kernel in kernels/refusal.h.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/attention/parts/tile.h"
#include "kernels/refusal.h"

namespace flashproof::FP_EXECUTOR {

inline std::string dims_unsupported(const AttentionProblem& p) {
  if (p.head_dim() > kMaxHeadDim) {
    return beyond_range("d", p.head_dim(), kMaxHeadDim);
  }
  if (p.value_dim() > kMaxValueDim) {
    return beyond_range("dv", p.value_dim(), kMaxValueDim);
  }
  if (p.q_heads() > 65535) {
    return beyond_range("Hq", p.q_heads(), 65535);
  }
  return p.sequences() > 65535 ? beyond_range("B", p.sequences(), 65535) : std::string();
}

inline std::string scores_unsupported(const AttentionProblem& p, const char* what, std::int64_t scores) {
  const int d = static_cast<int>(p.head_dim());
  const int dv = static_cast<int>(p.value_dim());
  const std::int64_t most = TileShape::most_scores(d, dv);
  return scores <= most ? std::string()
                        : beyond_range(what, scores, most) + " keys at d = " + std::to_string(d) +
                              ", dv = " + std::to_string(dv) + " (shared memory)";
}

inline std::string tile_unsupported(const Problem& problem) {
  const auto& p = std::get<AttentionProblem>(problem);
  std::string why = dims_unsupported(p);
  std::int64_t chunk = 0;
  for (int c = 0; c < p.plan.chunks(); ++c) {
    chunk = std::max<std::int64_t>(chunk, p.plan.boundary[c + 1] - p.plan.boundary[c]);
  }
  return why.empty() ? scores_unsupported(p, "chunk", chunk) : why;
}

/// Kernels that hold a whole row's scores.
inline std::string resident_unsupported(const Problem& problem) {
  const auto& p = std::get<AttentionProblem>(problem);
  std::string why = dims_unsupported(p);
  return why.empty() ? scores_unsupported(p, "Sk", p.k_length()) : why;
}

/// A score of ScoreUnit::raw is divided by the scale, descale factors included: as the kernel forms it, so that one that
/// underflows to 0 is refused too.
inline std::string raw_unsupported(const Problem& problem) {
  const auto& p = std::get<AttentionProblem>(problem);
  const std::string legal = ": legal above 0, bias and sink are divided by it";
  if (p.q_descale.shape.empty() && p.k_descale.shape.empty()) {
    return p.scale > 0 ? tile_unsupported(problem) : "scale = " + std::to_string(p.scale) + legal;
  }
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      const float first = p.scale * static_cast<float>(AttentionProblem::descale(p.q_descale, s, kv));
      const float scale = first * static_cast<float>(AttentionProblem::descale(p.k_descale, s, kv));
      if (scale > 0) {
        continue;
      }
      return "scale * q_descale * k_descale [" + std::to_string(s) + ", " + std::to_string(kv) +
             "] = " + std::to_string(scale) + legal;
    }
  }
  return tile_unsupported(problem);
}

/// What the documents' formulas leave open: which keys a row sees, what is added to its scores, where sequences lie.
inline Refusal published_refusal(Refusal::Own own = tile_unsupported) {
  return {std::move(own), {Feature::window, Feature::alibi, Feature::packed}};
}
inline Refusal hardened_refusal(Refusal::Own own = tile_unsupported) {
  return {std::move(own),
          {Feature::window, Feature::softcap, Feature::alibi, Feature::sink, Feature::packed, Feature::paged,
           Feature::descale, Feature::mixed}};
}

}  // namespace flashproof::FP_EXECUTOR
