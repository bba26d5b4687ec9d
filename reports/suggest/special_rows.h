// Cases with rows without numbers, made of drawn ones: few families have a score of +inf, and a declaration must not be found that
// the laws, which plant them everywhere, contradict.
#pragma once

#include <span>
#include <vector>

#include "kernels/registry.h"
#include "reference/problem/case.h"

namespace flashproof {

/// The key of a made case's spec that says what was put into its first row: "nan", "inf" or "empty". Such a spec makes no case.
inline constexpr const char* kPlanted = "planted";

/// Of some small cases those of these that the kernel takes: the first row sees NaN, a score of +inf, or no key.
std::vector<Case> special_row_cases(const Kernel& kernel, std::span<const Case> cases);

}  // namespace flashproof
