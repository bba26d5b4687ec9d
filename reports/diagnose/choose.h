// Which cases a diagnosis looks at: small ones, of as many families as there are.
#pragma once

#include <deque>
#include <span>

#include "kernels/registry.h"
#include "reference/problem/case.h"

namespace flashproof {

/// At most so many that the kernel takes, the smallest of each family before the second smallest of any; ties keep their order. At
/// most 24 specs of a family are made. `larger`: the largest of each family instead, among those of a hundredth of the work.
std::deque<Case> choose_cases(const Kernel& kernel, std::span<const CaseSpec> specs, std::size_t most,
                              bool larger = false);

}  // namespace flashproof
