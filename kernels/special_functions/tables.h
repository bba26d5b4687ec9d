// The coefficients of one GPU architecture's special functions, solved from its own outputs (solver.cc).
#pragma once

#include <string_view>

#include "kernels/special_functions/segment.h"

namespace flashproof::special {

struct Tables {
  Segment rcp[128];
  Segment rsqrt[128];  // even powers of two first, then odd ones; as for sqrt
  Segment sqrt[128];
  Segment ex2[64];
  Segment lg2[64];
  Segment tanh[51];
  std::uint8_t tanh_first[11] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};  // of each binade, from [2^-8, 2^-7) to [4, 8)
};

/// log2 of the number of tanh's segments in the binade of 2^e, −8 <= e <= 2.
FP_BOTH constexpr int tanh_segments(int e) { return static_cast<int>(0x343'2221'1000ULL >> (4 * (e + 8)) & 15U); }

#include "kernels/special_functions/tables_sm_90.inc"

/// What the CPU executor's native math is of.
inline constexpr std::string_view kModelled = "9.0", kModelledArchitecture = "sm_90";

/// The tables whose outputs were compared with GPUs of this capability ("9.0") for all 2^32 inputs; null: never measured,
/// and nothing is claimed.
constexpr const Tables* tables_of(std::string_view compute_capability) {
  return compute_capability == kModelled ? &kSm90 : nullptr;
}

}  // namespace flashproof::special
